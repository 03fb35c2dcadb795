-- job_insert_many: insert jobs into queues that have no limit; the rest is left alone and not returned.
-- params: id uuid[], {job.given as params} (what a draft has an attribute for, of source `draft` in model/job/draft.py),
--         state text[], run_at timestamptz[] (NULL: now + delay), delay float8[] seconds, tags text[] (JSON arrays),
--         locks text[] (JSON arrays), depends_on text[] (JSON arrays), on_parent_failure text[], waits_for int4[],
--         parked_for text[] (what its target has no room for), starts bool[],
--         is_within_limits bool, node_id uuid, claim_id uuid (NULL: nothing starts),
--         mark_owner text[], mark_key text[], mark_hash bytea[] (Idempotency-Keys of jobs submitted one by one, for queues
--         without limits; NULL: none), lock_ms int4 (how long a key that somebody is just taking is waited for;
--         NULL: as long as the transaction waits for anything)
-- An array may be shorter than the others, or empty: what is missing is NULL and means the usual.
-- returns: id of every row inserted; started_at of those that were claimed as well
-- Index: job primary key and job_line take the new rows at their right-hand edge. A queue with limits, or not yet known,
-- is skipped here unless the caller holds its lock and has counted (is_within_limits), so a limit set a moment ago holds.
-- A node with a free slot may claim what it inserts (`starts`): the claim's own conditions are asked here too, and the job
-- begins one commit earlier. A job with locks is parked for them, unless it is blocked; the caller takes it into the wait lists.
-- It is created when the transaction began, near the time inside its id, by which events are found (event_window).
-- An Idempotency-Key is taken together with its job, or neither is: one that was used before, also by another row of this
-- batch, leaves its job out, and the caller looks for what was answered then. Sorted, so that two batches cannot deadlock.
WITH patience AS MATERIALIZED (
    SELECT CASE WHEN $lock_ms::int4 IS NOT NULL THEN set_config('lock_timeout', $lock_ms::int4::text, true) END
), marked AS (
    INSERT INTO windlass.idempotency (owner, key, body_hash, job_ids)
    SELECT m.owner, m.key, m.hash, ARRAY[m.id]
    FROM unnest($mark_owner::text[], $mark_key::text[], $mark_hash::bytea[], $id::uuid[], $queue::text[])
        AS m(owner, key, hash, id, queue)
    JOIN windlass.queue q ON q.name = m.queue AND q.max_jobs IS NULL AND q.max_bytes IS NULL AND q.submit_rate IS NULL
    CROSS JOIN patience
    WHERE m.key IS NOT NULL
    ORDER BY m.owner, m.key
    ON CONFLICT (owner, key) DO NOTHING
    RETURNING job_ids[1] AS id
)
INSERT INTO windlass.job (
    id, {job.given}, input_bytes, run_at, tags, locks, depends_on, on_parent_failure, waits_for, was_blocked,
    parked_at, parked_for, state, attempt, node_id, claim_id, started_at, created_at)
SELECT
    g.id, {job.given of g}, octet_length(g.input),
    coalesce(g.run_at, clock_timestamp() + coalesce(g.delay, 0) * interval '1 second'),
    CASE WHEN g.tags IS NOT NULL THEN ARRAY(SELECT json_array_elements_text(g.tags::json)) END,
    CASE WHEN g.locks IS NOT NULL THEN ARRAY(SELECT json_array_elements_text(g.locks::json)) END,
    CASE WHEN g.depends_on IS NOT NULL THEN ARRAY(SELECT json_array_elements_text(g.depends_on::json)::uuid) END,
    g.on_parent_failure, coalesce(g.waits_for, 0), coalesce(g.waits_for, 0) > 0,
    CASE WHEN g.parked_for IS NOT NULL THEN clock_timestamp() END, g.parked_for,
    CASE WHEN may.start THEN 'running' ELSE coalesce(g.state, 'queued') END,
    CASE WHEN may.start THEN 1 ELSE 0 END,
    CASE WHEN may.start THEN $node_id::uuid END,
    CASE WHEN may.start THEN $claim_id::uuid END,
    CASE WHEN may.start THEN clock_timestamp() END, now()
FROM unnest(
    $id::uuid[], {job.given as arrays},
    $state::text[], $run_at::timestamptz[], $delay::float8[], $tags::text[], $locks::text[], $depends_on::text[],
    $on_parent_failure::text[], $waits_for::int4[], $parked_for::text[], $starts::bool[], $mark_key::text[])
    AS g(id, {job.given}, state, run_at, delay, tags, locks, depends_on, on_parent_failure, waits_for, parked_for,
         starts, mark_key)
JOIN windlass.queue q
    ON q.name = g.queue
    AND ($is_within_limits::bool OR (q.max_jobs IS NULL AND q.max_bytes IS NULL AND q.submit_rate IS NULL))
CROSS JOIN LATERAL (
    SELECT coalesce(g.starts, false) AND g.parked_for IS NULL AND NOT q.is_paused AND q.max_running IS NULL AND q.rate IS NULL
       AND EXISTS (SELECT FROM windlass.node n WHERE n.id = $node_id::uuid AND n.lease_until > now() AND n.state = 'active'
                   AND NOT n.is_paused) AS start
) may
WHERE g.mark_key IS NULL OR g.id = ANY (ARRAY(SELECT id FROM marked))
RETURNING id, started_at
