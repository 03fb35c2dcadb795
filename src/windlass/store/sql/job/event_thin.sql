-- event_thin: forget events in some blocks of a partition that are past the retention, and whose job or execution is gone or
-- that are of neither.
-- params: from tid, to tid (not included), days int4
-- returns: forgotten int8     engine/jobs/partitions.py puts the partition's name for {partition}
-- Index: none: a range of blocks; job, job_history and execution primary keys, one probe a day that has begun.
WITH gone AS (
    DELETE FROM {partition} v
    WHERE v.ctid >= $1 AND v.ctid < $2
      AND v.at < ((now() AT TIME ZONE 'UTC')::date - $3::int)::timestamp AT TIME ZONE 'UTC'
      AND NOT EXISTS (SELECT FROM windlass.job j WHERE j.id = ANY (ARRAY[v.job_id]))
      AND NOT EXISTS (SELECT FROM windlass.job_history h WHERE h.id = v.job_id AND h.finished_at < now() + interval '1 day')
      AND NOT EXISTS (SELECT FROM windlass.execution e WHERE e.id = ANY (ARRAY[CASE v.noun WHEN 'execution' THEN v.subject::uuid END]))
    RETURNING 1
)
SELECT count(*) AS forgotten FROM gone
