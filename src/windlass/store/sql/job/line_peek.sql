-- line_peek: every line (queue and priority) that has something queued, and when its first job is due.
-- params: queues text[], queues_except text[], kinds text[], tasks text[] (what the node serves and can perform; NULL: anything)
-- returns: queue, priority, first_at, is_limited. Priority -1 stands for jobs to be claimed alone, -2 for
-- the database's clock, by which a node learns how far its own is off, -3 for an operation asked of some node: an idle node
-- need not ask for that by itself.
-- Index: job_line, one probe a line, from its very start: this is what finds a job below a claim's starting point.
SELECT q.name AS queue, level.priority, first.run_at AS first_at, (q.max_running IS NOT NULL OR q.rate IS NOT NULL) AS is_limited
FROM windlass.queue q
CROSS JOIN unnest('{3,2,1,0}'::int2[]) AS level(priority)
CROSS JOIN LATERAL (
    SELECT j.run_at FROM windlass.job j
    WHERE j.queue = q.name AND j.priority = level.priority AND j.state = 'queued' AND j.crashes < 2
      AND j.parked_at IS NULL
      AND ($3::text[] IS NULL OR j.kind = ANY ($3)) AND (j.task IS NULL OR $4::text[] IS NULL OR j.task = ANY ($4))
    ORDER BY j.queue, j.priority, j.run_at LIMIT 1
) first
WHERE NOT q.is_paused AND windlass.serves($1, $2, q.name)
UNION ALL
SELECT '', -2, clock_timestamp(), false
UNION ALL
SELECT '', -3, clock_timestamp(), false WHERE EXISTS (SELECT FROM windlass.operation o WHERE o.ended_at IS NULL)
UNION ALL
(SELECT '', -1, j.run_at, false FROM windlass.job j 
 WHERE j.state = 'queued' AND j.crashes >= 2 AND j.parked_at IS NULL AND windlass.serves($1, $2, j.queue)
   AND ($3::text[] IS NULL OR j.kind = ANY ($3)) AND (j.task IS NULL OR $4::text[] IS NULL OR j.task = ANY ($4))
 ORDER BY j.run_at LIMIT 1)
