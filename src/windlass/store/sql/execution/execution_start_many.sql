-- execution_start_many: accept plain executions and insert their first steps, if what is remembered of their workflows is true.
-- params: workflow text[], version int4[], is_newest bool[] (whoever asked wants the newest: is this still it?), hash bytea[],
--         queues text[] (JSON arrays: of all steps; one row a definition),
--         id uuid[], definition int4[] (its place in the columns above, from 1), input text[], priority int2[], shard int2[],
--         has_conclusion bool[], timeout float8[] seconds, correlation_id text[], trace_id text[], owner text[],
--         tags text[] (JSON arrays), mark_owner text[], mark_key text[], mark_hash bytea[] (their Idempotency-Keys; NULL: none;
--         one row an execution),
--         step_id uuid[], step_of uuid[] (its execution), step_definition int4[], step text[], kind text[], queue text[],
--         step_priority int2[], timeout_ms int8[], max_attempts int4[], retry text[], step_input text[], target text[], task text[],
--         is_foreseen bool[], step_correlation_id text[], step_trace_id text[], step_owner text[],
--         is_marked bool[] (its execution has a key; one row a step), starts bool[], node_id uuid, claim_id uuid (NULL: nothing
--         starts), lock_ms int4 (how long a key that somebody is just taking is waited for; NULL: there is none)
-- An array may be shorter than the others, or empty: what is missing is NULL and means the usual.
-- returns: of every execution inserted id, created_at, deadline; of every step that was claimed as well id, priority, created_at,
--          started_at, correlation_id, trace_id. Executions of a workflow that was deleted, has a newer version, or needs a queue
--          that is not known are left out, with their steps, and so are those whose key was used before, or by another row of
--          this batch: the caller looks again. A key is taken together with its execution, or neither is.
-- Index: the primary keys of workflow, workflow_version, queue and node; the new rows land as in execution_insert_many and
-- step_insert_many, of which this is both: one statement needs no transaction around it, and the version is judged by the
-- snapshot that inserts. No row of anybody else is locked but a key that
-- is just being taken, for which see job_insert_many. Steps are joined to definitions, not to executions: those are few.
WITH known AS MATERIALIZED (
    SELECT d.place, d.workflow, d.version
    FROM unnest($workflow::text[], $version::int4[], $is_newest::bool[], $hash::bytea[], $queues::text[]) WITH ORDINALITY
        AS d(workflow, version, is_newest, hash, queues, place)
    JOIN windlass.workflow w ON w.name = d.workflow AND w.deleted_at IS NULL AND (NOT d.is_newest OR w.version = d.version)
    JOIN windlass.workflow_version v ON v.workflow = d.workflow AND v.version = d.version AND v.hash = d.hash
    WHERE NOT EXISTS (SELECT FROM json_array_elements_text(d.queues::json) AS named(queue)
                      WHERE NOT EXISTS (SELECT FROM windlass.queue q WHERE q.name = named.queue))
), patience AS MATERIALIZED (
    SELECT CASE WHEN $lock_ms::int4 IS NOT NULL THEN set_config('lock_timeout', $lock_ms::int4::text, true) END
), marked AS (
    INSERT INTO windlass.idempotency (owner, key, body_hash, job_ids)
    SELECT m.owner, m.key, m.hash, ARRAY[m.id]
    FROM unnest($mark_owner::text[], $mark_key::text[], $mark_hash::bytea[], $id::uuid[], $definition::int4[])
        AS m(owner, key, hash, id, definition)
    JOIN known ON known.place = m.definition
    CROSS JOIN patience
    WHERE m.key IS NOT NULL
    ORDER BY m.owner, m.key
    ON CONFLICT (owner, key) DO NOTHING
    RETURNING job_ids[1] AS id
), begun AS (
    INSERT INTO windlass.execution (
        id, workflow, version, input, priority, shard, has_conclusion, deadline, correlation_id, trace_id, owner, tags, begun_at)
    SELECT g.id, known.workflow, known.version, g.input::json, g.priority, g.shard, coalesce(g.has_conclusion, false),
           clock_timestamp() + g.timeout * interval '1 second', g.correlation_id, g.trace_id, g.owner,
           CASE WHEN g.tags IS NOT NULL THEN ARRAY(SELECT json_array_elements_text(g.tags::json)) END, clock_timestamp()
    FROM unnest($id::uuid[], $definition::int4[], $input::text[], $priority::int2[], $shard::int2[], $has_conclusion::bool[],
                $timeout::float8[], $correlation_id::text[], $trace_id::text[], $owner::text[], $tags::text[], $mark_key::text[])
        AS g(id, definition, input, priority, shard, has_conclusion, timeout, correlation_id, trace_id, owner, tags, mark_key)
    JOIN known ON known.place = g.definition
    WHERE g.mark_key IS NULL OR g.id = ANY (ARRAY(SELECT id FROM marked))
    RETURNING id, created_at, deadline
), begun_steps AS (
    INSERT INTO windlass.job (
        id, execution_id, step, kind, queue, priority, timeout_ms, max_attempts, retry, input, input_bytes, target, task, is_foreseen,
        correlation_id, trace_id, owner, run_at, state, attempt, node_id, claim_id, started_at, created_at)
    SELECT s.id, s.execution_id, s.step, s.kind, s.queue, s.priority, s.timeout_ms, s.max_attempts, s.retry::json,
           s.input::json, octet_length(s.input), s.target, s.task, coalesce(s.is_foreseen, false), s.correlation_id, s.trace_id, s.owner,
           clock_timestamp(), CASE WHEN may.start THEN 'running' ELSE 'queued' END, CASE WHEN may.start THEN 1 ELSE 0 END,
           CASE WHEN may.start THEN $node_id::uuid END, CASE WHEN may.start THEN $claim_id::uuid END,
           CASE WHEN may.start THEN clock_timestamp() END, now()
    FROM unnest($step_id::uuid[], $step_of::uuid[], $step_definition::int4[], $step::text[], $kind::text[], $queue::text[],
                $step_priority::int2[], $timeout_ms::int8[], $max_attempts::int4[], $retry::text[], $step_input::text[],
                $target::text[], $task::text[], $is_foreseen::bool[], $step_correlation_id::text[], $step_trace_id::text[], $step_owner::text[],
                $is_marked::bool[], $starts::bool[])
        AS s(id, execution_id, definition, step, kind, queue, priority, timeout_ms, max_attempts, retry, input, target, task,
             is_foreseen, correlation_id, trace_id, owner, is_marked, starts)
    JOIN known ON known.place = s.definition
    JOIN windlass.queue q ON q.name = s.queue
    CROSS JOIN LATERAL (
        SELECT coalesce(s.starts, false) AND NOT q.is_paused AND q.max_running IS NULL AND q.rate IS NULL
           AND EXISTS (SELECT FROM windlass.node n WHERE n.id = $node_id::uuid AND n.lease_until > now() AND n.state = 'active'
                       AND NOT n.is_paused) AS start
    ) may
    WHERE s.is_marked IS NOT TRUE OR s.execution_id = ANY (ARRAY(SELECT id FROM marked))
    RETURNING id, priority, created_at, started_at, correlation_id, trace_id
)
SELECT id, created_at, deadline, NULL::int2 AS priority, NULL::timestamptz AS started_at, NULL AS correlation_id, NULL AS trace_id
FROM begun
UNION ALL
SELECT id, created_at, NULL, priority, started_at, correlation_id, trace_id FROM begun_steps WHERE started_at IS NOT NULL
