-- execution_children_of: unfinished executions that these steps waited for.
-- params: parent_job_id uuid[]     returns: id     Index: execution_parent.
SELECT e.id FROM windlass.execution e WHERE e.parent_job_id = ANY ($1::uuid[]) AND e.finished_at IS NULL
