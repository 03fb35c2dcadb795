-- job_insert_many: insert jobs into queues that have no limit; the rest is left alone and not returned.
-- params: id uuid[], queue text[], kind text[], priority int2[], state text[], run_at timestamptz[] (NULL: now + delay),
--         delay float8[] seconds, deadline timestamptz[], timeout_ms int8[], max_attempts int4[], retry text[],
--         key text[], correlation_id text[], trace_id text[], owner text[], tags text[] (JSON arrays), input text[],
--         depends_on text[] (JSON arrays), waits_for int4[], on_parent_failure text[], starts bool[], target text[],
--         parked_for text[] (what its target has no room for),
--         is_within_limits bool, node_id uuid, claim_id uuid (NULL: nothing starts), locks text[] (JSON arrays),
--         mark_owner text[], mark_key text[], mark_hash bytea[] (Idempotency-Keys of jobs submitted one by one, for queues
--         without limits; NULL: none), lock_ms int4 (how long a key that somebody is just taking is waited for;
--         NULL: as long as the transaction waits for anything)
--         An array may be shorter than the others, or empty: what is missing is NULL and means the usual.
-- returns: id of every row inserted; started_at of those that were claimed as well
-- Index: job primary key and job_line take the new rows at their right-hand edge. A queue with limits, or not yet known,
-- is skipped here unless the caller holds its lock and has counted (is_within_limits), so a limit set a moment ago holds.
-- A node with a free slot may claim what it inserts (`starts`): the claim's own conditions are asked here too, and the job
-- begins one commit earlier. A job with locks is parked for them, unless it is blocked; the caller takes it into line.
-- It is created when the transaction began, near the time inside its id, by which events are found (event_window).
-- An Idempotency-Key is taken together with its job, or neither is: one that was used before, also by another row of this
-- batch, leaves its job out, and the caller looks for what was answered then. Sorted, so that two batches cannot deadlock.
WITH patience AS MATERIALIZED (
    SELECT CASE WHEN $31::int4 IS NOT NULL THEN set_config('lock_timeout', $31::int4::text, true) END
), marked AS (
    INSERT INTO windlass.idempotency (owner, key, body_hash, job_ids)
    SELECT m.owner, m.key, m.hash, ARRAY[m.id]
    FROM unnest($28::text[], $29::text[], $30::bytea[], $1::uuid[], $2::text[]) AS m(owner, key, hash, id, queue)
    JOIN windlass.queue q ON q.name = m.queue AND q.max_jobs IS NULL AND q.max_bytes IS NULL
    CROSS JOIN patience
    WHERE m.key IS NOT NULL
    ORDER BY m.owner, m.key
    ON CONFLICT (owner, key) DO NOTHING
    RETURNING job_ids[1] AS id
)
INSERT INTO windlass.job (
    id, queue, kind, priority, run_at, deadline, timeout_ms, max_attempts, retry,
    key, correlation_id, trace_id, owner, tags, input, input_bytes, depends_on, waits_for, was_blocked, on_parent_failure,
    target, parked_at, parked_for, locks, state, attempt, node_id, claim_id, started_at, created_at)
SELECT
    g.id, g.queue, g.kind, g.priority,
    coalesce(g.run_at, clock_timestamp() + coalesce(g.delay, 0) * interval '1 second'),
    g.deadline, g.timeout_ms, g.max_attempts, g.retry::json,
    g.key, g.correlation_id, g.trace_id, g.owner,
    CASE WHEN g.tags IS NOT NULL THEN ARRAY(SELECT json_array_elements_text(g.tags::json)) END,
    g.input::json, octet_length(g.input),
    CASE WHEN g.depends_on IS NOT NULL THEN ARRAY(SELECT json_array_elements_text(g.depends_on::json)::uuid) END,
    coalesce(g.waits_for, 0), coalesce(g.waits_for, 0) > 0, g.on_parent_failure,
    g.target, CASE WHEN g.parked_for IS NOT NULL THEN clock_timestamp() END, g.parked_for,
    CASE WHEN g.locks IS NOT NULL THEN ARRAY(SELECT json_array_elements_text(g.locks::json)) END,
    CASE WHEN may.start THEN 'running' ELSE coalesce(g.state, 'queued') END,
    CASE WHEN may.start THEN 1 ELSE 0 END,
    CASE WHEN may.start THEN $25::uuid END,
    CASE WHEN may.start THEN $26::uuid END,
    CASE WHEN may.start THEN clock_timestamp() END, now()
FROM unnest(
    $1::uuid[], $2::text[], $3::text[], $4::int2[], $5::text[], $6::timestamptz[], $7::float8[], $8::timestamptz[], $9::int8[],
    $10::int4[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::text[], $17::text[], $18::text[],
    $19::int4[], $20::text[], $21::bool[],
    $22::text[], $23::text[], $27::text[], $29::text[])
    AS g(id, queue, kind, priority, state, run_at, delay, deadline, timeout_ms, max_attempts, retry, key, correlation_id,
         trace_id, owner, tags, input, depends_on, waits_for, on_parent_failure, starts, target,
         parked_for, locks, mark_key)
JOIN windlass.queue q ON q.name = g.queue AND ($24::bool OR (q.max_jobs IS NULL AND q.max_bytes IS NULL))
CROSS JOIN LATERAL (
    SELECT coalesce(g.starts, false) AND g.parked_for IS NULL AND NOT q.is_paused AND q.max_running IS NULL AND q.rate IS NULL
       AND EXISTS (SELECT FROM windlass.node n WHERE n.id = $25::uuid AND n.lease_until > now() AND n.state = 'active'
                   AND NOT n.is_paused) AS start
) may
WHERE g.mark_key IS NULL OR g.id = ANY (ARRAY(SELECT id FROM marked))
RETURNING id, started_at
