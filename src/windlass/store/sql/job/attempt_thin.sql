-- attempt_thin: forget attempts in some blocks of a partition that are past the retention and whose job is gone.
-- params: from tid, to tid (not included), days int4
-- returns: forgotten int8     engine/jobs/partitions.py puts the partition's name for {partition}
-- Index: none: a range of blocks; job and job_history primary keys, one probe a day that has begun.
WITH gone AS (
    DELETE FROM {partition} a
    WHERE a.ctid >= $1 AND a.ctid < $2
      AND a.ended_at < ((now() AT TIME ZONE 'UTC')::date - $3::int)::timestamp AT TIME ZONE 'UTC'
      AND NOT EXISTS (SELECT FROM windlass.job j WHERE j.id = ANY (ARRAY[a.job_id]))
      AND NOT EXISTS (SELECT FROM windlass.job_history h WHERE h.id = a.job_id AND h.finished_at < now() + interval '1 day')
    RETURNING 1
)
SELECT count(*) AS forgotten FROM gone
