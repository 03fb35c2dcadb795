-- turn_due_find: concurrency keys that have room although somebody waits.
-- params: most int4 keys     returns: workflow, key
-- Index: execution_waiting, read from key to key however many wait; execution_running. Whoever ends begins the next
-- one in the same transaction, so this finds next to nothing: a limit that was raised, or what somebody did by hand.
WITH RECURSIVE waiting AS (
    (SELECT e.workflow, e.concurrency_key, e.concurrency_limit, 1 AS n FROM windlass.execution e
     WHERE e.begun_at IS NULL AND e.finished_at IS NULL AND e.concurrency_key IS NOT NULL
     ORDER BY e.workflow, e.concurrency_key, e.created_at, e.id LIMIT 1)
    UNION ALL
    SELECT next.*, waiting.n + 1 FROM waiting CROSS JOIN LATERAL (
        SELECT e.workflow, e.concurrency_key, e.concurrency_limit FROM windlass.execution e
        WHERE e.begun_at IS NULL AND e.finished_at IS NULL AND e.concurrency_key IS NOT NULL
          AND (e.workflow, e.concurrency_key) > (waiting.workflow, waiting.concurrency_key)
        ORDER BY e.workflow, e.concurrency_key, e.created_at, e.id LIMIT 1) next
    WHERE waiting.n < $1::int4
)
SELECT waiting.workflow, waiting.concurrency_key AS key FROM waiting
CROSS JOIN LATERAL (
    SELECT count(*) AS count FROM (
        SELECT FROM windlass.execution e
        WHERE e.workflow = waiting.workflow AND e.concurrency_key = waiting.concurrency_key
          AND e.begun_at IS NOT NULL AND e.finished_at IS NULL
        LIMIT waiting.concurrency_limit) few
) running
WHERE running.count < waiting.concurrency_limit
