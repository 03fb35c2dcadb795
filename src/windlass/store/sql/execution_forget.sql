-- execution_forget: forget executions that ended before the retention, with the signals to them and the questions they asked.
-- params: days int4, most int4     returns: forgotten int8
-- Index: execution_finished, execution_signal_of, approval_execution, fan primary key. Their jobs ended before them, and are
-- gone with their days.
WITH old AS MATERIALIZED (
    SELECT e.id FROM windlass.execution e
    WHERE e.finished_at IS NOT NULL
      AND e.finished_at < ((now() AT TIME ZONE 'UTC')::date - $1::int)::timestamp AT TIME ZONE 'UTC'
    ORDER BY e.finished_at LIMIT $2 FOR UPDATE SKIP LOCKED
), signals AS (
    DELETE FROM windlass.execution_signal s USING old WHERE s.execution_id = old.id
), approvals AS (
    DELETE FROM windlass.approval a USING old WHERE a.execution_id = old.id
), fans AS (
    DELETE FROM windlass.fan f USING old WHERE f.execution_id = ANY (ARRAY[old.id])
), gone AS (
    DELETE FROM windlass.execution e USING old WHERE e.id = ANY (ARRAY[old.id]) RETURNING 1
)
SELECT count(*) AS forgotten FROM gone
