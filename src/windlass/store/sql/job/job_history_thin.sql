-- job_history_thin: forget what nobody needs of some blocks of a partition of finished jobs.
-- params: from tid, to tid (not included), days int4, parents uuid[] (see parent_awaited)
-- returns: forgotten int8     engine/jobs/partitions.py puts the partition's name for {partition}
-- Needed is what is not past the retention, a step of an execution that is there, and a parent of a job that waits.
-- Index: none: a range of blocks; execution, job_key and job_progress primary keys. Needs windlass.verb = 'delete' in this
-- transaction. The counters are told here, since the triggers that count are those of the parent table.
WITH gone AS (
    DELETE FROM {partition} h
    WHERE h.ctid >= $1 AND h.ctid < $2
      AND h.finished_at < ((now() AT TIME ZONE 'UTC')::date - $3::int)::timestamp AT TIME ZONE 'UTC'
      AND NOT (h.execution_id IS NOT NULL AND EXISTS (SELECT FROM windlass.execution e WHERE e.id = ANY (ARRAY[h.execution_id])))
      AND NOT (h.has_children AND h.id = ANY ($4::uuid[]))
    RETURNING h.id, h.queue, h.state, h.key
), uncounted AS (
    INSERT INTO windlass.counter_delta (queue, succeeded, dead, cancelled, expired, skipped)
    SELECT queue, -count(*) FILTER (WHERE state = 'succeeded'), -count(*) FILTER (WHERE state = 'dead'),
           -count(*) FILTER (WHERE state = 'cancelled'), -count(*) FILTER (WHERE state = 'expired'),
           -count(*) FILTER (WHERE state = 'skipped')
    FROM gone GROUP BY queue
), keys AS (
    DELETE FROM windlass.job_key k USING gone WHERE gone.key IS NOT NULL AND k.key = ANY (ARRAY[gone.key]) AND k.job_id = ANY (ARRAY[gone.id])
), progress AS (
    DELETE FROM windlass.job_progress p USING gone WHERE p.job_id = gone.id
)
SELECT count(*) AS forgotten FROM gone
