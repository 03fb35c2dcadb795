-- job_claim_solo: take a job on its last chance, which the caller has locked together with the row of its queue.
-- params: node_id uuid, claim_id uuid, id uuid     returns: as job_claim_many
-- Index: job primary key, and job_held where its queue has a limit. Such jobs run one at a time on a node, so that the one
-- that kills it takes no other suspect along. `max_running` and `rate` are those of job_claim_limited: asked under the lock
-- of the queue's row, by a snapshot newer than it.
WITH open_queue AS MATERIALIZED (
    SELECT q.name FROM windlass.job s JOIN windlass.queue q ON q.name = s.queue
    WHERE s.id = $3
      AND (q.max_running IS NULL
           OR q.max_running > (SELECT count(*) FROM windlass.job r WHERE r.state = 'running' AND r.node_id IS NOT NULL
                               AND r.callback_until IS NULL AND r.queue = q.name))
      AND (q.rate IS NULL OR q.rate_free_at < now() - interval '1 second'
           OR extract(epoch FROM now() - greatest(q.rate_free_at, now() - interval '1 second')) * q.rate >= 1)
), dripped AS (
    UPDATE windlass.queue q
    SET rate_free_at = greatest(q.rate_free_at, now() - interval '1 second') + (1 / q.rate) * interval '1 second'
    FROM open_queue o
    WHERE q.name = o.name AND q.rate IS NOT NULL
)
UPDATE windlass.job j
SET state = 'running', attempt = attempt + 1, node_id = $1, claim_id = $2, started_at = clock_timestamp()
WHERE j.id = $3 AND EXISTS (SELECT FROM open_queue)
RETURNING {job.claimed of j}
