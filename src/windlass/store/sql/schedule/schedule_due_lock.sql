-- schedule_due_lock: schedules whose time has come, the most overdue first, locked until the caller's commit.
-- params: most int4     returns: id, next_at, alike (NULL: it goes its own way), now
-- Index: schedule_due, from its left end. What another leader has in hand is passed over: two who believe that they lead
-- share the work instead of waiting for each other. Instants that fell due while it was paused go their own way.
SELECT id, next_at, CASE WHEN resumed_at IS NULL OR resumed_at < next_at THEN alike END AS alike, now() AS now
FROM windlass.schedule
WHERE paused_at IS NULL AND fire_at <= now()
ORDER BY fire_at
LIMIT $1
FOR UPDATE SKIP LOCKED
