-- firing_backfill_many: enter instants of the past that are to be made up for; what made something stays as it is.
-- params: schedule_id uuid, instant timestamptz[], job_id uuid[], execution_id uuid[] (empty: it starts no workflow)
-- returns: instant of each that was entered, or had been skipped or coalesced
-- Index: firing primary key.
INSERT INTO windlass.firing (schedule_id, instant, job_id, execution_id, state, is_asked)
SELECT $1::uuid, instant, job_id, execution_id, 'late', true
FROM unnest($2::timestamptz[], $3::uuid[], $4::uuid[]) AS g(instant, job_id, execution_id)
ON CONFLICT (schedule_id, instant) DO UPDATE
SET state = 'late', is_asked = true, reason = NULL, fired_at = clock_timestamp(), job_id = excluded.job_id,
    execution_id = excluded.execution_id
WHERE firing.state IN ('skipped', 'coalesced')
RETURNING instant
