-- firing_refuse_many: nothing could be made for these instants; say so in the row that was just entered.
-- params: schedule_id uuid[], instant timestamptz[], state text[], reason text[]     returns: nothing
-- Index: firing primary key.
UPDATE windlass.firing f
SET state = g.state, reason = g.reason, job_id = NULL, execution_id = NULL
FROM unnest($1::uuid[], $2::timestamptz[], $3::text[], $4::text[]) AS g(schedule_id, instant, state, reason)
WHERE f.schedule_id = g.schedule_id AND f.instant = g.instant
