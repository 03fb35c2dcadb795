-- step_insert_many: insert the jobs of steps whose turn has come.
-- params: id uuid[], execution_id uuid[], step text[], item int4[], kind text[], queue text[], priority int2[] (NULL: the
--         execution's), timeout_ms int8[], max_attempts int4[], retry text[], input text[], target text[], task text[], is_foreseen bool[],
--         locks text[] (JSON arrays), limits text[], patience float8[] (NULL: a node performs it; else: how many seconds it waits for what
--         ends it), starts bool[], node_id uuid, claim_id uuid (NULL: nothing starts),
--         is_undo bool (a compensation: it runs because the execution was given up)
-- An array may be shorter than the others, or empty: what is missing is NULL and means the usual.
-- returns: id, execution_id, queue, priority, run_at, started_at, parked_for of every row inserted. An execution that is to
--          be cancelled, or was given up, gets no further steps.
-- Index: the primary keys of execution, queue and node; the new rows land in job_line and job_step.
-- A node with room may claim what it inserts, as in job_insert_many. Locks are asked for by whoever called.
INSERT INTO windlass.job (
    id, execution_id, step, item, kind, queue, priority, timeout_ms, max_attempts, retry, input, input_bytes, target, task,
    is_foreseen, locks, limits, correlation_id, trace_id, owner, run_at, parked_at, parked_for,
    state, attempt, node_id, claim_id, started_at, callback_until, callback_hash, created_at)
SELECT
    g.id, g.execution_id, g.step, g.item, g.kind, g.queue, coalesce(g.priority, e.priority), g.timeout_ms,
    coalesce(g.max_attempts, 1), g.retry::json, g.input::json, octet_length(g.input), g.target, g.task, coalesce(g.is_foreseen, false),
    CASE WHEN g.locks IS NOT NULL THEN ARRAY(SELECT json_array_elements_text(g.locks::json)) END, g.limits::json,
    e.correlation_id, e.trace_id, e.owner, clock_timestamp(),
    CASE WHEN may.wait_for IS NOT NULL THEN clock_timestamp() END, may.wait_for,
    CASE WHEN g.patience IS NOT NULL OR may.start THEN 'running' ELSE 'queued' END,
    CASE WHEN g.patience IS NOT NULL OR may.start THEN 1 ELSE 0 END,
    CASE WHEN may.start THEN $node_id::uuid END,
    CASE WHEN g.patience IS NOT NULL THEN gen_random_uuid() WHEN may.start THEN $claim_id::uuid END,
    CASE WHEN g.patience IS NOT NULL OR may.start THEN clock_timestamp() END,
    CASE WHEN g.patience = 'infinity' THEN 'infinity' WHEN g.patience IS NOT NULL THEN clock_timestamp() + g.patience * interval '1 second' END,
    CASE WHEN g.patience IS NOT NULL THEN ''::bytea END, now()
FROM unnest(
    $id::uuid[], $execution_id::uuid[], $step::text[], $item::int4[], $kind::text[], $queue::text[], $priority::int2[],
    $timeout_ms::int8[], $max_attempts::int4[], $retry::text[], $input::text[], $target::text[], $task::text[], $is_foreseen::bool[],
    $locks::text[], $limits::text[], $patience::float8[], $starts::bool[])
    AS g(id, execution_id, step, item, kind, queue, priority, timeout_ms, max_attempts, retry, input, target, task, is_foreseen,
         locks, limits, patience, starts)
JOIN windlass.execution e ON e.id = ANY (ARRAY[g.execution_id]) AND ($is_undo::bool OR (e.cancel_requested_at IS NULL AND e.doom IS NULL))
JOIN windlass.queue q ON q.name = g.queue
CROSS JOIN LATERAL (
    SELECT CASE WHEN g.patience IS NOT NULL THEN NULL WHEN g.locks IS NOT NULL THEN 'lock'
                WHEN e.paused_at IS NOT NULL THEN 'paused' END AS wait_for,
           coalesce(g.starts, false) AND g.patience IS NULL AND g.locks IS NULL AND e.paused_at IS NULL AND NOT q.is_paused
           AND q.max_running IS NULL AND q.rate IS NULL
           AND EXISTS (SELECT FROM windlass.node n WHERE n.id = $node_id::uuid AND n.lease_until > now() AND n.state = 'active'
                       AND NOT n.is_paused) AS start
) may
RETURNING id, execution_id, step, item, queue, kind, priority, run_at, created_at, started_at, parked_for, correlation_id, trace_id
