-- job_get_many: jobs by id, finished or not.
-- params: id uuid[]     returns: the whole rows; finished_at, outcome, cause and result are NULL for unfinished ones
-- Index: both primary keys.
SELECT id, run_at, created_at, started_at, cancel_requested_at, deadline, node_id, claim_id, execution_id, attempt, max_attempts, waits_for,
       snoozes, timeout_ms, priority, crashes, replays, has_children, was_blocked, queue, kind, state, on_parent_failure, key,
       correlation_id, trace_id, tags, depends_on, retry, error, input, NULL::timestamptz AS finished_at, NULL AS outcome, NULL AS cause, NULL::json AS result
FROM windlass.job WHERE id = ANY ($1::uuid[])
UNION ALL
SELECT id, run_at, created_at, started_at, cancel_requested_at, deadline, node_id, claim_id, execution_id, attempt, max_attempts, waits_for,
       snoozes, timeout_ms, priority, crashes, replays, has_children, was_blocked, queue, kind, state, on_parent_failure, key,
       correlation_id, trace_id, tags, depends_on, retry, error, input, finished_at, outcome, cause, result
FROM windlass.job_history WHERE id = ANY ($1::uuid[])
