-- bulk_held_steps: which of these ended steps cannot be brought back just now, because somebody holds the row of their execution?
-- params: id uuid[]     returns: id
-- Index: primary keys of job_history and execution. As job_end_held_many: asked only after a batch had to wait, it waits for
-- nobody.
WITH asked AS MATERIALIZED (
    SELECT id, execution_id FROM windlass.job_history WHERE id = ANY ($1::uuid[]) AND execution_id IS NOT NULL
), free AS MATERIALIZED (
    SELECT id FROM windlass.execution WHERE id = ANY (ARRAY(SELECT execution_id FROM asked)) FOR NO KEY UPDATE SKIP LOCKED
)
SELECT id FROM asked WHERE execution_id NOT IN (SELECT id FROM free)
   AND EXISTS (SELECT FROM windlass.execution e WHERE e.id = ANY (ARRAY[asked.execution_id]) OFFSET 0)
