-- firing_standing: rows of a schedule that stand for instants before them, oldest first.
-- params: schedule_id uuid, since timestamptz, most int4     returns: instant, stands_for, state, reason
-- Index: firing_standing.
SELECT instant, stands_for, state, reason
FROM windlass.firing
WHERE schedule_id = $1 AND instant >= $2 AND stands_for > 1
ORDER BY instant
LIMIT $3
