-- job_why: the facts that can hold a queued or blocked job back.
-- params: id uuid     returns: one row
-- Index: primary keys; job_line to look at what stands before it (at most 1,000 rows of its line, and 1,000 of lines of a
-- higher priority); job_held for what runs, by which queues; BRIN for the rate of the last minute.
SELECT j.state, j.kind, j.execution_id, j.run_at, j.deadline, j.created_at, j.queue, j.priority, j.attempt, j.crashes, j.waits_for, j.node_id,
       (SELECT a.outcome FROM windlass.attempt a WHERE a.job_id = j.id AND a.attempt = j.attempt ORDER BY a.ended_at DESC LIMIT 1) AS last_outcome,
       ARRAY(SELECT DISTINCT c.name FROM windlass.checkpoint c WHERE c.job_id = j.id AND c.is_open ORDER BY c.name LIMIT 5) AS listens_for,
       j.cancel_requested_at, j.callback_until, j.started_at, j.error, now() AS now,
       j.target, j.parked_at, j.parked_for, t.is_enabled, t.disabled_reason, t.rate AS target_rate, t.max_running AS target_max_running,
       t.breaker, t.breaker_reason, t.open_until,
       q.is_paused, q.paused_at, q.max_running, q.rate, CASE WHEN q.rate_free_at > now() THEN q.rate_free_at END AS rate_free_at,
       (SELECT count(*) FROM windlass.job r
        WHERE r.state = 'running' AND r.node_id IS NOT NULL AND r.callback_until IS NULL AND r.queue = j.queue) AS running,
       ARRAY(SELECT r.id FROM windlass.job r
             WHERE r.state = 'running' AND r.node_id IS NOT NULL AND r.callback_until IS NULL AND r.queue = j.queue
             ORDER BY r.started_at LIMIT 5) AS runners,
       living.workers_alive, living.queues_served, serving.workers_serving, serving.workers_live, serving.slots,
       (SELECT count(*) FROM windlass.job r
        WHERE r.state = 'running' AND r.callback_until IS NULL AND r.node_id = ANY (serving.node_ids)) AS running_all,
       (SELECT json_agg(busy) FROM (
           SELECT r.queue, count(*) AS count FROM windlass.job r
           WHERE r.state = 'running' AND r.callback_until IS NULL AND r.node_id = ANY (serving.node_ids)
           GROUP BY r.queue ORDER BY count(*) DESC, r.queue LIMIT 3) busy) AS busy_with,
       (SELECT json_agg(above) FROM (
           SELECT due.queue, count(*) AS count FROM (
               SELECT o.name AS queue FROM windlass.queue o
               CROSS JOIN generate_series(j.priority + 1, 3) AS level(priority)
               CROSS JOIN LATERAL (
                   SELECT FROM windlass.job b WHERE b.queue = o.name AND b.priority = level.priority AND b.state = 'queued'
                     AND b.crashes < 2 AND b.parked_at IS NULL AND b.run_at <= now() ORDER BY b.queue, b.priority, b.run_at LIMIT 1000
               ) line
               WHERE NOT o.is_paused LIMIT 1000) due
           GROUP BY due.queue ORDER BY count(*) DESC, due.queue LIMIT 3) above) AS above,
       (SELECT count(*) FROM (
           SELECT 1 FROM windlass.job b WHERE b.queue = j.queue AND b.priority = j.priority AND b.state = 'queued' AND b.crashes < 2
             AND b.parked_at IS NULL AND b.run_at < least(j.run_at, now()) ORDER BY b.queue, b.priority, b.run_at LIMIT 1000) ahead) AS ahead,
       (SELECT count(*) FROM (
           SELECT 1 FROM windlass.job_history h
           WHERE h.finished_at > now() - interval '10 seconds' AND h.queue = j.queue LIMIT 10000) recent) AS ended_lately,
       ARRAY(SELECT d.parent_id FROM windlass.dependency d WHERE d.child_id = j.id LIMIT 20) AS open_parents
FROM windlass.job j LEFT JOIN windlass.queue q ON q.name = j.queue LEFT JOIN windlass.target t ON t.host = j.target
-- Who takes jobs at all; and of those, who serves its queue.
CROSS JOIN LATERAL (
    SELECT count(*) AS workers_alive,
           ARRAY(SELECT DISTINCT s FROM windlass.node o, unnest(o.queues) AS s
                 WHERE o.state = 'active' AND o.lease_until > now() AND 'worker' = ANY (o.roles) ORDER BY s LIMIT 20) AS queues_served
    FROM windlass.node n WHERE n.state = 'active' AND n.lease_until > now() AND 'worker' = ANY (n.roles)
) living
CROSS JOIN LATERAL (
    SELECT count(*) AS workers_serving, count(*) FILTER (WHERE NOT n.is_paused) AS workers_live,
           coalesce(sum(n.workers) FILTER (WHERE NOT n.is_paused), 0) AS slots, array_agg(n.id) AS node_ids
    FROM windlass.node n
    WHERE n.state = 'active' AND n.lease_until > now() AND 'worker' = ANY (n.roles)
      AND windlass.serves(n.queues, n.queues_except, j.queue)
) serving
WHERE j.id = $1
