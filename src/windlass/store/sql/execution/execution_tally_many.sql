-- execution_tally_many: executions whose row the caller holds, and how their jobs have ended.
-- params: id uuid[]
-- returns: what a conclusion needs of the row; `unfinished` jobs, counts by state, is_failed, is_cancelled (as decided by of
--          model/workflow/execution.py), first_at, last_at, and the error of the failure that came first, as execution_refresh_many
--          writes it
-- Index: execution primary key, job_step, job_history_step.
SELECT e.id, e.workflow, e.parent_job_id, e.concurrency_key, e.doom, e.cancel_requested_at, e.created_at, e.state, c.*,
       (SELECT json_build_object('cause', coalesce(h.cause, h.state), 'message', h.error ->> 'message', 'step', h.step,
                                 'job_id', 'job_' || replace(h.id::text, '-', ''))::text
        FROM windlass.job_history h
        WHERE h.execution_id = e.id AND h.finished_at >= e.created_at AND h.state IN ('dead', 'expired') AND NOT h.is_foreseen
        ORDER BY h.finished_at LIMIT 1) AS first_error
FROM windlass.execution e
CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE j.finished_at IS NULL) AS unfinished,
           json_strip_nulls(json_build_object(
               'blocked', nullif(count(*) FILTER (WHERE j.state = 'blocked'), 0),
               'queued', nullif(count(*) FILTER (WHERE j.state = 'queued'), 0),
               'running', nullif(count(*) FILTER (WHERE j.state = 'running'), 0),
               'succeeded', nullif(count(*) FILTER (WHERE j.state = 'succeeded'), 0),
               'dead', nullif(count(*) FILTER (WHERE j.state = 'dead'), 0),
               'cancelled', nullif(count(*) FILTER (WHERE j.state = 'cancelled'), 0),
               'expired', nullif(count(*) FILTER (WHERE j.state = 'expired'), 0),
               'skipped', nullif(count(*) FILTER (WHERE j.state = 'skipped'), 0)))::text AS counts,
           coalesce(bool_or(j.state IN ('dead', 'expired') AND NOT j.is_foreseen), false) AS is_failed,
           e.cancel_requested_at IS NOT NULL OR coalesce(bool_or(j.state = 'cancelled' AND NOT j.is_foreseen), false) AS is_cancelled,
           min(j.started_at) AS first_at, max(j.finished_at) AS last_at
    FROM (
        SELECT state, is_foreseen, started_at, NULL::timestamptz AS finished_at FROM windlass.job WHERE execution_id = e.id
        UNION ALL
        SELECT state, is_foreseen, started_at, finished_at FROM windlass.job_history
        WHERE execution_id = e.id AND finished_at >= e.created_at) j
) c
WHERE e.id = ANY ($1::uuid[]) AND e.begun_at IS NOT NULL
ORDER BY e.id
