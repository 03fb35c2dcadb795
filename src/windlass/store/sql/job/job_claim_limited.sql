-- job_claim_limited: take due jobs from limited queues whose rows the caller has locked.
-- params: queue text[], priority int2[] (lines in order), most int4, node_id uuid, claim_id uuid,
--         kinds text[], tasks text[] (as job_claim_many)
-- returns: as job_claim_many
-- Index: job_line, and job_held for counting what runs, which is what nodes hold: a step that waits for its items, for a
-- child, a signal or a decision is held by no node (its node_id is NULL, which the range of the index leaves out), and a
-- delivery that its receiver completes later is not run by one. Neither takes room: what it waits for may need it. The
-- count is taken under the queue's lock by a snapshot newer than it, so two nodes never both see the last that may run. `rate`
-- is a leaky bucket: a queue may start what has dripped in since rate_free_at, at most one second's worth at once.
WITH room AS MATERIALIZED (
    SELECT q.name,
           least(
               coalesce(q.max_running - (SELECT count(*) FROM windlass.job r WHERE r.state = 'running' AND r.node_id IS NOT NULL
                                         AND r.callback_until IS NULL AND r.queue = q.name), $3),
               coalesce(floor(extract(epoch FROM now() - greatest(q.rate_free_at, now() - interval '1 second')) * q.rate
                              + CASE WHEN q.rate_free_at < now() - interval '1 second' THEN 1 ELSE 0 END), $3)
           )::int AS free
    FROM windlass.queue q
    WHERE q.name = ANY ($1::text[])
), picked AS MATERIALIZED (
    SELECT due.ctid, due.queue, due.run_at, line.place, room.free,
           row_number() OVER (PARTITION BY due.queue ORDER BY line.place, due.run_at) AS nth
    FROM unnest($1::text[], $2::int2[]) WITH ORDINALITY AS line(queue, priority, place)
    JOIN room ON room.name = line.queue AND room.free > 0
    CROSS JOIN LATERAL (
        SELECT j.ctid, j.queue, j.run_at FROM windlass.job j
        WHERE j.queue = line.queue AND j.priority = line.priority AND j.state = 'queued' AND j.crashes < 2
          AND j.parked_at IS NULL
          AND j.run_at <= clock_timestamp() AND (j.deadline IS NULL OR j.deadline > now())
          AND ($6::text[] IS NULL OR j.kind = ANY ($6)) AND (j.task IS NULL OR $7::text[] IS NULL OR j.task = ANY ($7))
          AND EXISTS (SELECT FROM windlass.node n WHERE n.id = $4 AND n.lease_until > now() AND n.state = 'active'
                      AND NOT n.is_paused)
        ORDER BY j.queue, j.priority, j.run_at
        LIMIT least(room.free, $3)
        FOR UPDATE SKIP LOCKED
    ) due
), taken AS MATERIALIZED (
    SELECT ctid, queue FROM picked WHERE nth <= free ORDER BY place, run_at LIMIT $3
), dripped AS (
    UPDATE windlass.queue q
    SET rate_free_at = greatest(q.rate_free_at, now() - interval '1 second') + (t.n / q.rate) * interval '1 second'
    FROM (SELECT queue, count(*) AS n FROM taken GROUP BY queue) t
    WHERE q.name = t.queue AND q.rate IS NOT NULL
)
UPDATE windlass.job j
SET state = 'running', attempt = attempt + 1, node_id = $4, claim_id = $5, started_at = clock_timestamp()
WHERE j.ctid = ANY (ARRAY(SELECT ctid FROM taken))
RETURNING {job.claimed of j}
