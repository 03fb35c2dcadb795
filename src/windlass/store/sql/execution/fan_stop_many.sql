-- fan_stop_many: no further item of these begins: more have failed than may, or nobody waits for them any more.
-- params: execution_id uuid[], step text[]     returns: execution_id, step of those that were not stopped     Index: primary key.
UPDATE windlass.fan f SET is_stopped = true
FROM unnest($1::uuid[], $2::text[]) AS g(execution_id, step)
WHERE f.execution_id = ANY (ARRAY[g.execution_id]) AND f.step = g.step AND NOT f.is_stopped
RETURNING f.execution_id, f.step
