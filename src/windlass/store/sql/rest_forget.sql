-- rest_forget: forget what is past the retention and lies in no day's partition: it happened while no day had been made.
-- params: days int4, most int4     returns: forgotten int8 (jobs)
-- Index: none needed: the default partitions hold next to nothing. Needs windlass.verb = 'delete' in this transaction. Jobs
-- are deleted through the parent table, whose triggers count; their rows there are final to everybody else.
WITH old AS MATERIALIZED (
    SELECT id, finished_at FROM windlass.job_history_rest
    WHERE finished_at < ((now() AT TIME ZONE 'UTC')::date - $1::int)::timestamp AT TIME ZONE 'UTC' LIMIT $2
), gone AS (
    DELETE FROM windlass.job_history h USING old WHERE h.id = old.id AND h.finished_at = old.finished_at RETURNING h.id
), keys AS (
    DELETE FROM windlass.job_key k USING gone WHERE k.job_id = gone.id
), attempts AS (
    DELETE FROM windlass.attempt_rest WHERE ended_at < ((now() AT TIME ZONE 'UTC')::date - $1::int)::timestamp AT TIME ZONE 'UTC'
), progress AS (
    DELETE FROM windlass.job_progress p USING gone WHERE p.job_id = gone.id
), lines AS (
    DELETE FROM windlass.job_log_rest WHERE begun_at < ((now() AT TIME ZONE 'UTC')::date - $1::int)::timestamp AT TIME ZONE 'UTC'
), events AS (
    DELETE FROM windlass.event_rest WHERE at < ((now() AT TIME ZONE 'UTC')::date - $1::int)::timestamp AT TIME ZONE 'UTC'
)
SELECT count(*) AS forgotten FROM gone
