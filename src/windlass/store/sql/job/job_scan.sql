-- job_scan: all jobs in the order of their ids, a piece at a time; for the doctor.
-- params: after uuid, most int4     returns: as job_get_many, without input, target, parked_at and detail
-- Index: both primary keys, merged.
(SELECT id, run_at, created_at, started_at, cancel_requested_at, deadline, node_id, claim_id, execution_id, attempt, max_attempts, waits_for,
      snoozes, timeout_ms, priority, crashes, replays, has_children, was_blocked, queue, kind, state, on_parent_failure, key,
      correlation_id, trace_id, tags, depends_on, retry, error, NULL::timestamptz AS finished_at, NULL AS outcome, NULL AS cause, NULL::json AS result
FROM windlass.job WHERE id > $1 ORDER BY id LIMIT $2)
UNION ALL
(SELECT id, run_at, created_at, started_at, cancel_requested_at, deadline, node_id, claim_id, execution_id, attempt, max_attempts, waits_for,
      snoozes, timeout_ms, priority, crashes, replays, has_children, was_blocked, queue, kind, state, on_parent_failure, key,
      correlation_id, trace_id, tags, depends_on, retry, error, finished_at, outcome, cause, NULL::json AS result
FROM windlass.job_history WHERE id > $1 ORDER BY id LIMIT $2)
ORDER BY id LIMIT $2
