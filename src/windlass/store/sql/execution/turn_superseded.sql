-- turn_superseded: executions with a concurrency key that make room for a newer one: all but the newest so many.
-- params: workflow text, key text, kept int4     returns: id
-- Index: execution_running, execution_waiting. Those that are ending are left out: they make room already.
SELECT few.id FROM (
    SELECT e.id, e.created_at FROM windlass.execution e
    WHERE e.workflow = $1 AND e.concurrency_key = $2 AND e.begun_at IS NOT NULL AND e.finished_at IS NULL
      AND e.cancel_requested_at IS NULL AND e.doom IS NULL
    UNION ALL
    SELECT e.id, e.created_at FROM windlass.execution e
    WHERE e.workflow = $1 AND e.concurrency_key = $2 AND e.begun_at IS NULL AND e.finished_at IS NULL
) few
ORDER BY few.created_at DESC, few.id DESC OFFSET $3
