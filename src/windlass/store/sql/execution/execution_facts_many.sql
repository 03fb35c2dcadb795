-- execution_facts_many: what never changes about executions.
-- params: id uuid[]     returns: a row an execution, with the hash of its definition
-- Index: both primary keys.
SELECT e.id, e.workflow, e.version, v.hash, e.created_at, e.depth, e.priority, e.input
FROM windlass.execution e
JOIN windlass.workflow_version v ON v.workflow = e.workflow AND v.version = e.version
WHERE e.id = ANY ($1::uuid[])
