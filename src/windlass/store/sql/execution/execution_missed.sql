-- execution_missed: unfinished executions of which a job ended in a span of time and that were not refreshed after it.
-- params: from_seconds float8 ago, to_seconds float8 ago, most int4     returns: id
-- Index: job_history_finished (BRIN), then the execution's primary key. The other net under lost marks: it costs what was done
-- in that span, not how many executions there are. A refresh within two seconds of the end may not have seen its commit, so
-- that such an execution counts as missed; hence only unfinished ones.
SELECT e.id
FROM (SELECT DISTINCT ON (h.execution_id) h.execution_id, h.finished_at
      FROM windlass.job_history h
      WHERE h.execution_id IS NOT NULL AND h.finished_at >= now() - $1::float8 * interval '1 second'
        AND h.finished_at < now() - $2::float8 * interval '1 second'
      ORDER BY h.execution_id, h.finished_at DESC) ended
JOIN windlass.execution e ON e.id = ANY (ARRAY[ended.execution_id])
WHERE CASE WHEN e.finished_at IS NULL THEN true END AND e.refreshed_at < ended.finished_at + interval '2 seconds'
LIMIT $3::int4
