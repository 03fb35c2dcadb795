-- fan_forget_many: fan-outs have ended; the sums of their items are not needed any more.
-- params: execution_id uuid[], step text[]     Index: primary key, fan_delta_of.
WITH gone AS (
    DELETE FROM windlass.fan f USING unnest($1::uuid[], $2::text[]) AS g(execution_id, step)
    WHERE f.execution_id = ANY (ARRAY[g.execution_id]) AND f.step = g.step
    RETURNING f.execution_id, f.step
)
DELETE FROM windlass.fan_delta d USING gone WHERE d.execution_id = gone.execution_id AND d.step = gone.step
