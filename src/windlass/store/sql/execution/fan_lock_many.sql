-- fan_lock_many: hold fan-outs while their next items are inserted, or while they end.
-- params: execution_id uuid[], step text[]     returns: what their executions say that every item must know
-- Index: primary keys. One order for everybody.
SELECT f.execution_id, f.step, e.priority, e.correlation_id, e.trace_id, e.owner, e.paused_at IS NOT NULL AS is_paused,
       e.cancel_requested_at IS NOT NULL OR e.doom IS NOT NULL AS is_ending, clock_timestamp() AS now
FROM unnest($1::uuid[], $2::text[]) AS g(execution_id, step)
JOIN windlass.fan f ON f.execution_id = ANY (ARRAY[g.execution_id]) AND f.step = g.step
JOIN windlass.execution e ON e.id = ANY (ARRAY[f.execution_id])
ORDER BY f.execution_id, f.step
FOR UPDATE OF f
