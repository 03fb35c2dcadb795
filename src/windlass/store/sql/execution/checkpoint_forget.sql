-- checkpoint_forget: forget what durable functions did whose jobs are gone, or that were made afresh by a rerun.
-- params: days int4, most int4     returns: forgotten int8
-- Index: checkpoint_age, job primary key, job_history primary key. A function may sleep for longer than the retention: what
-- it did stays for as long as its job is anywhere.
WITH old AS MATERIALIZED (
    SELECT c.job_id, c.branch, c.place FROM windlass.checkpoint c
    WHERE c.at < ((now() AT TIME ZONE 'UTC')::date - $1::int)::timestamp AT TIME ZONE 'UTC'
      AND NOT EXISTS (SELECT FROM windlass.job j WHERE j.id = ANY (ARRAY[c.job_id]))
      AND NOT EXISTS (SELECT FROM windlass.job_history h WHERE h.id = c.job_id)
    LIMIT $2 FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM windlass.checkpoint c USING old
    WHERE c.job_id = old.job_id AND c.branch = old.branch AND c.place = old.place RETURNING 1
)
SELECT count(*) AS forgotten FROM gone
