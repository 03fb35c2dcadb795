-- execution_list: one page of executions, newest first, or one by its id. engine/executions/read.py puts the asked-for
-- conditions for {where}.
-- params: limit int4, then those of the conditions
-- returns: the rows as they are shown, with parent_execution_id: whose step waits for it
-- Index: primary key read backwards, execution_of for a workflow's, execution_state for those under way; both tables' primary
-- key for the parent, which is looked up for the page alone.
SELECT e.id, e.workflow, e.version, e.state, e.counts, e.input, e.output, e.error, e.created_at, e.begun_at, e.started_at,
       e.finished_at, e.deadline, e.parent_job_id, e.depth, e.priority, e.concurrency_key, e.concurrency_limit, e.correlation_id,
       e.trace_id, e.tags, e.paused_at, e.cancel_requested_at, e.refreshed_at, e.doom,
       CASE WHEN e.parent_job_id IS NOT NULL THEN coalesce(
           (SELECT j.execution_id FROM windlass.job j WHERE j.id = e.parent_job_id),
           (SELECT h.execution_id FROM windlass.job_history h WHERE h.id = e.parent_job_id LIMIT 1)) END AS parent_execution_id
FROM windlass.execution e WHERE {where} ORDER BY e.id DESC LIMIT $1
