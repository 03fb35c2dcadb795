-- step_view_many: the steps of an execution that have a job, for its graph. Items of fan-outs are not among them.
-- params: execution_id uuid, since timestamptz (when it was created), chars int4 (of a result are shown)
-- returns: step, id, kind, state, attempt, max_attempts, created_at, started_at, finished_at, callback_until, parked_for,
--          result (its beginning), result_chars, error, child_id (the execution that it waits for or has waited for)
-- Index: job_step, job_history_step, execution_parent.
SELECT j.step, j.id, j.kind, j.state, j.attempt, j.max_attempts, j.created_at, j.started_at, NULL::timestamptz AS finished_at,
       nullif(j.callback_until, 'infinity') AS callback_until, j.parked_for, NULL::text AS result, 0 AS result_chars, j.error::text AS error,
       CASE WHEN j.kind = 'workflow' THEN (SELECT c.id FROM windlass.execution c WHERE c.parent_job_id = j.id) END AS child_id
FROM windlass.job j WHERE j.execution_id = $1 AND j.item IS NULL
UNION ALL
SELECT h.step, h.id, h.kind, h.state, h.attempt, h.max_attempts, h.created_at, h.started_at, h.finished_at,
       NULL, NULL, left(h.result::text, $3), coalesce(length(h.result::text), 0), h.error::text,
       CASE WHEN h.kind = 'workflow' THEN (SELECT c.id FROM windlass.execution c WHERE c.parent_job_id = h.id) END
FROM windlass.job_history h
WHERE h.execution_id = $1 AND h.item IS NULL AND h.finished_at >= $2::timestamptz - interval '1 hour'
ORDER BY 2
