-- local_executions: executions as a test looks at them, in the order in which they were asked for.
-- params: none     returns: a row an execution
-- Index: none is needed; a test's tables are small.
SELECT e.id, e.workflow, e.version, e.state, e.created_at, e.finished_at, e.input::text AS input, e.output::text AS output,
       e.error::text AS error
FROM windlass.execution e
ORDER BY e.id
