-- job_end_held_many: which of these jobs could not end just now, because somebody holds a row that their end needs: their own,
-- that of a child, of their execution, their fan-out or one of their locks?
-- params: id uuid[], most int4 (children looked at, of each)     returns: id
-- Index: primary keys of job, dependency, execution, fan and lock. Asked only after a batch had to wait: it locks what is free
-- for the length of this statement, and waits for nobody. However many are held, they are found by one look.
WITH asked AS MATERIALIZED (
    SELECT j.id, j.execution_id, j.step, j.has_children, j.locks FROM windlass.job j WHERE j.id = ANY ($1::uuid[])
), free AS MATERIALIZED (
    SELECT id FROM windlass.job WHERE id = ANY ($1::uuid[]) FOR UPDATE SKIP LOCKED
), child AS MATERIALIZED (
    SELECT asked.id AS parent_id, k.id
    FROM asked
    CROSS JOIN LATERAL (SELECT d.child_id FROM windlass.dependency d WHERE d.parent_id = asked.id LIMIT $2::int4) d
    CROSS JOIN LATERAL (SELECT id FROM windlass.job WHERE id = d.child_id OFFSET 0) k
    WHERE asked.has_children
), free_child AS MATERIALIZED (
    SELECT id FROM windlass.job WHERE id = ANY (ARRAY(SELECT id FROM child)) FOR UPDATE SKIP LOCKED
), free_execution AS MATERIALIZED (
    SELECT id FROM windlass.execution WHERE id = ANY (ARRAY(SELECT execution_id FROM asked)) FOR NO KEY UPDATE SKIP LOCKED
), fan AS MATERIALIZED (
    SELECT asked.id, f.execution_id, f.step FROM asked CROSS JOIN LATERAL (
        SELECT f.execution_id, f.step FROM windlass.fan f
        WHERE f.execution_id = asked.execution_id AND f.step = asked.step OFFSET 0) f
), free_fan AS MATERIALIZED (
    SELECT f.execution_id, f.step FROM asked CROSS JOIN LATERAL (
        SELECT f.execution_id, f.step FROM windlass.fan f
        WHERE f.execution_id = asked.execution_id AND f.step = asked.step FOR UPDATE SKIP LOCKED) f
), free_lock AS MATERIALIZED (
    SELECT name FROM windlass.lock WHERE name = ANY (ARRAY(SELECT unnest(locks) FROM asked)) FOR NO KEY UPDATE SKIP LOCKED
)
SELECT id FROM asked
WHERE id NOT IN (SELECT id FROM free)
   OR execution_id IS NOT NULL AND execution_id NOT IN (SELECT id FROM free_execution)
      AND EXISTS (SELECT FROM windlass.execution e WHERE e.id = ANY (ARRAY[asked.execution_id]))
   OR id IN (SELECT parent_id FROM child WHERE child.id NOT IN (SELECT id FROM free_child))
   OR id IN (SELECT fan.id FROM fan WHERE (fan.execution_id, fan.step) NOT IN (SELECT execution_id, step FROM free_fan))
   OR EXISTS (SELECT FROM unnest(asked.locks) AS wanted(name)
              JOIN windlass.lock l ON l.name = ANY (ARRAY[wanted.name]) WHERE l.name NOT IN (SELECT name FROM free_lock))
