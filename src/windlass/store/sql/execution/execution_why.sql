-- execution_why: what an execution that has not ended may wait for beside its jobs.
-- params: id uuid, most int4 (executions ahead of it that are counted)
-- returns: running_ids (of executions with its concurrency key), ahead (those that wait before it)
-- Index: execution_running, execution_waiting.
SELECT ARRAY(SELECT r.id FROM windlass.execution r
             WHERE r.workflow = e.workflow AND r.concurrency_key = e.concurrency_key AND r.begun_at IS NOT NULL AND r.finished_at IS NULL
             ORDER BY r.created_at, r.id LIMIT 5) AS running_ids,
       (SELECT count(*) FROM (
            SELECT FROM windlass.execution w
            WHERE w.workflow = e.workflow AND w.concurrency_key = e.concurrency_key AND w.begun_at IS NULL AND w.finished_at IS NULL
              AND (w.created_at, w.id) < (e.created_at, e.id) LIMIT $2) before) AS ahead
FROM windlass.execution e WHERE e.id = $1
