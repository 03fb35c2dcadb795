-- job_list: one page of jobs, newest first. engine/jobs/read.py puts the asked-for conditions in the place of {where}.
-- params: limit int4, then those of the conditions     returns: as job_get_many, without parked_at and detail
-- Index: both primary keys read backwards and merged, or the partial index that a condition names (dead, tags, execution).
(SELECT id, run_at, created_at, started_at, cancel_requested_at, deadline, node_id, claim_id, execution_id, attempt, max_attempts, waits_for,
       snoozes, timeout_ms, priority, crashes, replays, has_children, was_blocked, queue, kind, state, on_parent_failure, key,
       correlation_id, trace_id, tags, depends_on, retry, error, input, target, step, item, locks,
       NULL::timestamptz AS finished_at, NULL AS outcome, NULL AS cause, NULL::json AS result
 FROM windlass.job WHERE {where} ORDER BY id DESC LIMIT $1)
UNION ALL
(SELECT id, run_at, created_at, started_at, cancel_requested_at, deadline, node_id, claim_id, execution_id, attempt, max_attempts, waits_for,
       snoozes, timeout_ms, priority, crashes, replays, has_children, was_blocked, queue, kind, state, on_parent_failure, key,
       correlation_id, trace_id, tags, depends_on, retry, error, input, target, step, item, locks,
       finished_at, outcome, cause, result
 FROM windlass.job_history WHERE {where} ORDER BY id DESC LIMIT $1)
ORDER BY id DESC LIMIT $1
