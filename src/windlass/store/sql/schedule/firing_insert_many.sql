-- firing_insert_many: enter instants in the ledger; one that is there already is left as it is and not returned.
-- params: schedule_id uuid[], instant timestamptz[], job_id uuid[], execution_id uuid[], state text[], reason text[],
--         stands_for int4[], is_asked bool
--         An array may be shorter than the others, or empty: what is missing is NULL and means the usual.
-- returns: schedule_id, instant of each that was entered
-- Index: firing primary key, which is what makes an instant fire once, whoever believes that it leads.
INSERT INTO windlass.firing (schedule_id, instant, job_id, execution_id, state, reason, stands_for, is_asked)
SELECT schedule_id, instant, job_id, execution_id, state, reason, coalesce(stands_for, 1), $8::bool
FROM unnest($1::uuid[], $2::timestamptz[], $3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::int4[])
    AS g(schedule_id, instant, job_id, execution_id, state, reason, stands_for)
ON CONFLICT (schedule_id, instant) DO NOTHING
RETURNING schedule_id, instant
