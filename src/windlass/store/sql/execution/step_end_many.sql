-- step_end_many: write steps that were decided without an attempt: skipped, shaped, switched, failed.
-- params: id uuid[], execution_id uuid[], step text[], kind text[], queue text[], state text[] (succeeded, dead, skipped),
--         result text[], error text[], cause text[], is_foreseen bool[], item int4[] (may be shorter, or empty)
-- returns: id, state, queue of every row; an execution that is to be cancelled does not fail by what would have followed
-- Index: execution primary key. What succeeded or failed did so in one attempt of no length; what was skipped never had one.
INSERT INTO windlass.job_history (
    id, execution_id, step, item, kind, queue, priority, max_attempts, input, is_foreseen, correlation_id, trace_id, owner, run_at,
    state, attempt, claim_id, started_at, waits_for, was_blocked, finished_at, outcome, cause, result, error)
SELECT
    g.id, g.execution_id, g.step, g.item, g.kind, g.queue, e.priority, 1, '{}', coalesce(g.is_foreseen, false), e.correlation_id,
    e.trace_id, e.owner, now_is.at,
    g.state,
    CASE g.state WHEN 'skipped' THEN 0 ELSE 1 END,
    CASE g.state WHEN 'skipped' THEN NULL ELSE gen_random_uuid() END,
    CASE g.state WHEN 'skipped' THEN NULL ELSE now_is.at END,
    CASE g.state WHEN 'skipped' THEN 1 ELSE 0 END, g.state = 'skipped', now_is.at,
    CASE g.state WHEN 'succeeded' THEN 'succeeded' WHEN 'dead' THEN 'failed' END,
    g.cause, g.result::json, g.error::json
FROM unnest(
    $id::uuid[], $execution_id::uuid[], $step::text[], $kind::text[], $queue::text[], $state::text[], $result::text[],
    $error::text[], $cause::text[], $is_foreseen::bool[], $item::int4[])
    AS g(id, execution_id, step, kind, queue, state, result, error, cause, is_foreseen, item)
JOIN windlass.execution e ON e.id = ANY (ARRAY[g.execution_id]) AND NOT (g.state = 'dead' AND e.cancel_requested_at IS NOT NULL)
CROSS JOIN (SELECT clock_timestamp() AS at) now_is
RETURNING id, state, queue
