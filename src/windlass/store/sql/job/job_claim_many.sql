-- job_claim_many: take up to `most` due jobs from the given lines, in the given order of lines.
-- params: queue text[], priority int2[], since timestamptz[] (where each line's scan may start), most int4,
--         node_id uuid, claim_id uuid, kinds text[], tasks text[] (what the node can perform; NULL: anything)
-- returns: the claimed jobs with what an attempt needs (CLAIMED in model/job/draft.py)
-- What the node has no kind or task for is passed by, and not walked over again: `since` moves on behind what was taken.
-- Index: job_line, one range a line, entered at `since`: rows that were claimed before lie below it, so neither a million
-- waiting jobs nor dead row versions kept by somebody's long transaction are walked again. The nested loop is lazy: the
-- outer LIMIT stops it, so no more rows are locked than are taken. Whether a queue is paused or limited, and whether this
-- node still has its lease, is decided here, under the statement's snapshot, not by the caller.
WITH picked AS MATERIALIZED (
    SELECT due.ctid
    FROM (
        SELECT line.queue, line.priority, line.since
        FROM unnest($1::text[], $2::int2[], $3::timestamptz[]) WITH ORDINALITY AS line(queue, priority, since, place)
        JOIN windlass.queue q ON q.name = line.queue
        WHERE NOT q.is_paused AND q.max_running IS NULL AND q.rate IS NULL
          AND EXISTS (SELECT FROM windlass.node n WHERE n.id = $5 AND n.lease_until > now() AND n.state = 'active'
                      AND NOT n.is_paused)
        ORDER BY line.place
        OFFSET 0
    ) open_line
    CROSS JOIN LATERAL (
        SELECT j.ctid
        FROM windlass.job j
        WHERE j.queue = open_line.queue AND j.priority = open_line.priority
          AND j.state = 'queued' AND j.crashes < 2 AND j.parked_at IS NULL
          AND j.run_at >= open_line.since AND j.run_at <= clock_timestamp()
          AND (j.deadline IS NULL OR j.deadline > now())
          AND ($7::text[] IS NULL OR j.kind = ANY ($7)) AND (j.task IS NULL OR $8::text[] IS NULL OR j.task = ANY ($8))
        ORDER BY j.queue, j.priority, j.run_at
        LIMIT $4
        FOR UPDATE SKIP LOCKED
    ) due
    LIMIT $4
)
UPDATE windlass.job j
SET state = 'running', attempt = attempt + 1, node_id = $5, claim_id = $6, started_at = clock_timestamp()
WHERE j.ctid = ANY (ARRAY(SELECT ctid FROM picked))
RETURNING {job.claimed of j}
