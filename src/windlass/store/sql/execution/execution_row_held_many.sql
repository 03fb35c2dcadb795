-- execution_row_held_many: of which of these executions does somebody hold the row just now, or what their end would need: the
-- step that waits for it, that one's execution, and its concurrency key?
-- params: id uuid[]     returns: id
-- Index: primary keys of execution and job. Asked only after a batch had to wait: it locks what is free for the length of
-- this statement, and waits for nobody. Keys are locked as turn_hold_of locks them.
WITH asked AS MATERIALIZED (
    SELECT e.id, j.id AS step_id, j.execution_id AS parent_id,
        hashtextextended(e.workflow || ':' || e.concurrency_key, 5) AS key_hash
    FROM windlass.execution e LEFT JOIN windlass.job j ON j.id = ANY (ARRAY[e.parent_job_id])
    WHERE e.id = ANY ($1::uuid[])
), free AS MATERIALIZED (
    SELECT id FROM windlass.execution
    WHERE id = ANY (ARRAY(SELECT id FROM asked UNION SELECT parent_id FROM asked WHERE parent_id IS NOT NULL))
    FOR NO KEY UPDATE SKIP LOCKED
), free_step AS MATERIALIZED (
    SELECT id FROM windlass.job WHERE id = ANY (ARRAY(SELECT step_id FROM asked WHERE step_id IS NOT NULL)) FOR UPDATE SKIP LOCKED
), keys AS MATERIALIZED (
    SELECT DISTINCT key_hash FROM asked WHERE key_hash IS NOT NULL
), held_key AS MATERIALIZED (
    SELECT key_hash FROM keys WHERE NOT pg_try_advisory_xact_lock(key_hash)
)
SELECT id FROM asked
WHERE id NOT IN (SELECT id FROM free)
   OR parent_id IS NOT NULL AND parent_id NOT IN (SELECT id FROM free)
   OR step_id IS NOT NULL AND step_id NOT IN (SELECT id FROM free_step)
   OR key_hash IN (SELECT key_hash FROM held_key)
