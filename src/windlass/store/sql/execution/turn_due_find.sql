-- turn_due_find: concurrency keys that have room although somebody waits.
-- params: most int4 keys     returns: workflow, key
-- Index: execution_waiting, read from key to key however long their lines are; execution_running. Whoever ends begins the next
-- one in the same transaction, so this finds next to nothing: a limit that was raised, or what somebody did by hand.
WITH RECURSIVE line AS (
    (SELECT e.workflow, e.concurrency_key, e.concurrency_limit, 1 AS n FROM windlass.execution e
     WHERE e.begun_at IS NULL AND e.finished_at IS NULL AND e.concurrency_key IS NOT NULL
     ORDER BY e.workflow, e.concurrency_key, e.created_at, e.id LIMIT 1)
    UNION ALL
    SELECT next.*, line.n + 1 FROM line CROSS JOIN LATERAL (
        SELECT e.workflow, e.concurrency_key, e.concurrency_limit FROM windlass.execution e
        WHERE e.begun_at IS NULL AND e.finished_at IS NULL AND e.concurrency_key IS NOT NULL
          AND (e.workflow, e.concurrency_key) > (line.workflow, line.concurrency_key)
        ORDER BY e.workflow, e.concurrency_key, e.created_at, e.id LIMIT 1) next
    WHERE line.n < $1::int4
)
SELECT line.workflow, line.concurrency_key AS key FROM line
CROSS JOIN LATERAL (
    SELECT count(*) AS count FROM (
        SELECT FROM windlass.execution e
        WHERE e.workflow = line.workflow AND e.concurrency_key = line.concurrency_key
          AND e.begun_at IS NOT NULL AND e.finished_at IS NULL
        LIMIT line.concurrency_limit) few
) running
WHERE running.count < line.concurrency_limit
