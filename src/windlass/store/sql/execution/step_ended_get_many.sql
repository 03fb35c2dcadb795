-- step_ended_get_many: those of ended jobs that are steps of executions.
-- params: id uuid[]     returns: id, execution_id, step, item, kind, state, cause, finished_at     Index: job_history primary key.
SELECT h.id, h.execution_id, h.step, h.item, h.kind, h.state, h.cause, h.finished_at
FROM windlass.job_history h WHERE h.id = ANY ($1::uuid[]) AND h.execution_id IS NOT NULL
