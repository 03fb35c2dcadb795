-- execution_forget: forget executions that ended before the retention, with the signals to them and the questions they asked.
-- params: days int4, most int4     returns: found int8 (so many were looked at), forgotten int8
-- Index: execution_finished, execution_signal_of, approval_execution, primary keys of fan and execution_tree. Their jobs ended
-- before them, and are gone with their days. One that somebody holds, or of which somebody holds anything, stays for the next
-- round, whole; nobody is waited for. Hence all rows that go are locked first, and counted: of what is held there are more than
-- were locked.
WITH old AS MATERIALIZED (
    SELECT e.id FROM windlass.execution e
    WHERE e.finished_at IS NOT NULL
      AND e.finished_at < ((now() AT TIME ZONE 'UTC')::date - $1::int)::timestamp AT TIME ZONE 'UTC'
    ORDER BY e.finished_at LIMIT $2 FOR UPDATE SKIP LOCKED
), signals AS MATERIALIZED (
    SELECT s.execution_id AS id FROM old JOIN windlass.execution_signal s ON s.execution_id = old.id FOR UPDATE OF s SKIP LOCKED
), approvals AS MATERIALIZED (
    SELECT a.execution_id AS id FROM old JOIN windlass.approval a ON a.execution_id = old.id FOR UPDATE OF a SKIP LOCKED
), fans AS MATERIALIZED (
    SELECT f.execution_id AS id FROM old JOIN windlass.fan f ON f.execution_id = ANY (ARRAY[old.id]) FOR UPDATE OF f SKIP LOCKED
), trees AS MATERIALIZED (
    SELECT t.root_id AS id FROM old JOIN windlass.execution_tree t ON t.root_id = old.id FOR UPDATE OF t SKIP LOCKED
), held AS MATERIALIZED (
    SELECT id FROM (
        SELECT id, -1 AS one FROM signals
        UNION ALL SELECT id, -1 FROM approvals
        UNION ALL SELECT id, -1 FROM fans
        UNION ALL SELECT id, -1 FROM trees
        UNION ALL SELECT old.id, 1 FROM old JOIN windlass.execution_signal s ON s.execution_id = old.id
        UNION ALL SELECT old.id, 1 FROM old JOIN windlass.approval a ON a.execution_id = old.id
        UNION ALL SELECT old.id, 1 FROM old JOIN windlass.fan f ON f.execution_id = ANY (ARRAY[old.id])
        UNION ALL SELECT old.id, 1 FROM old JOIN windlass.execution_tree t ON t.root_id = old.id
    ) belongings
    GROUP BY id HAVING sum(one) > 0
), free AS MATERIALIZED (
    SELECT id FROM old WHERE id NOT IN (SELECT id FROM held)
), signals_gone AS (
    DELETE FROM windlass.execution_signal s USING free WHERE s.execution_id = free.id
), approvals_gone AS (
    DELETE FROM windlass.approval a USING free WHERE a.execution_id = free.id
), fans_gone AS (
    DELETE FROM windlass.fan f USING free WHERE f.execution_id = ANY (ARRAY[free.id])
), gone AS (
    DELETE FROM windlass.execution e USING free WHERE e.id = ANY (ARRAY[free.id]) RETURNING 1
)
SELECT (SELECT count(*) FROM old) AS found, (SELECT count(*) FROM gone) AS forgotten
