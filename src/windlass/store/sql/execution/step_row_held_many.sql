-- step_row_held_many: of which of these steps does somebody hold the row just now, or that of its execution or its fan-out?
-- params: job_id uuid[]     returns: id
-- Index: primary keys of job, execution and fan. Asked only after a round had to wait: it locks what is free for the length
-- of this statement, and waits for nobody.
WITH asked AS MATERIALIZED (
    SELECT j.id, j.execution_id, j.step FROM windlass.job j WHERE j.id = ANY ($1::uuid[])
), free AS MATERIALIZED (
    SELECT id FROM windlass.job WHERE id = ANY ($1::uuid[]) FOR UPDATE SKIP LOCKED
), free_execution AS MATERIALIZED (
    SELECT id FROM windlass.execution WHERE id = ANY (ARRAY(SELECT execution_id FROM asked)) FOR NO KEY UPDATE SKIP LOCKED
), free_fan AS MATERIALIZED (
    SELECT f.execution_id, f.step FROM asked CROSS JOIN LATERAL (
        SELECT f.execution_id, f.step FROM windlass.fan f
        WHERE f.execution_id = asked.execution_id AND f.step = asked.step FOR UPDATE SKIP LOCKED) f
)
SELECT id FROM asked
WHERE id NOT IN (SELECT id FROM free)
   OR execution_id NOT IN (SELECT id FROM free_execution)
   OR EXISTS (SELECT FROM windlass.fan f WHERE f.execution_id = asked.execution_id AND f.step = asked.step)
      AND (execution_id, step) NOT IN (SELECT execution_id, step FROM free_fan)
