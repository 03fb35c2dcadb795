-- schedule_unfinished_many: what schedules have made that has not ended, newest first.
-- params: schedule_id uuid[], look int4 (so many of its newest firings are looked at)
-- returns: schedule_id, job_id or execution_id, concurrency_key of an execution
-- Index: firing_made, job and execution primary keys. A job that has ended is not in `job` any more.
SELECT f.schedule_id, f.job_id, f.execution_id, e.concurrency_key
FROM unnest($1::uuid[]) AS s(id)
CROSS JOIN LATERAL (
    SELECT schedule_id, instant, fired_at, job_id, execution_id
    FROM windlass.firing
    WHERE schedule_id = s.id AND state IN ('fired', 'late')
    ORDER BY fired_at DESC
    LIMIT $2
) f
LEFT JOIN LATERAL (SELECT j.id FROM windlass.job j WHERE j.id = f.job_id OFFSET 0) j ON true
LEFT JOIN LATERAL (
    SELECT e.id, e.concurrency_key FROM windlass.execution e
    WHERE e.id = f.execution_id AND CASE WHEN e.finished_at IS NULL THEN true END OFFSET 0) e ON true
WHERE j.id IS NOT NULL OR e.id IS NOT NULL
ORDER BY f.schedule_id, f.fired_at DESC, f.instant DESC
