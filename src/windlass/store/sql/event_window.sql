-- event_window: what happened after a place and until an instant, oldest first: event rows, and the ordinary events that
-- are columns.
-- params: after_at timestamptz, until timestamptz, most int4, first_id uuid (no job created since `after_at` has a lower
--         id), after_job uuid, after_rank int4, after_number int8, last_id uuid (nor one created by `until` a higher)
-- returns: at, noun, subject, job_id, type, number, data, queue
-- Index: event primary key; job primary key for `created` (an id holds its time); BRIN on attempt and job_history. Each
-- arm is cut to the page by the whole order, because a batch of jobs shares one instant. Ranks are those of model/event.py.
-- A claim that was handed back has its `started` in the `released` row, which follows within the hold of a prefetch.
SELECT p.at, p.noun, p.subject, p.job_id, p.type, p.number, p.data,
       coalesce(p.queue,
                (SELECT j.queue FROM windlass.job j WHERE j.id = p.job_id),
                (SELECT h.queue FROM windlass.job_history h WHERE h.id = p.job_id LIMIT 1)) AS queue
FROM (
    (SELECT * FROM (
        SELECT e.at, coalesce(e.job_id, '00000000-0000-0000-0000-000000000000') AS place_id,
               CASE WHEN e.noun <> 'job' THEN 9 ELSE
                    CASE e.type WHEN 'unblocked' THEN 1 WHEN 'promoted' THEN 2 WHEN 'cancel_requested' THEN 4
                                WHEN 'released' THEN 5 WHEN 'finished' THEN 7 WHEN 'replayed' THEN 8 ELSE 9 END
               END AS rank,
               CASE e.type WHEN 'finished' THEN (e.data ->> 'attempt')::int8 ELSE e.seq END AS number,
               e.noun, e.subject, e.job_id, e.type, e.data, CASE e.noun WHEN 'queue' THEN e.subject END AS queue
        FROM windlass.event e WHERE e.at >= $1 AND e.at <= $2) a
     WHERE (at, place_id, rank, number) > ($1, $5, $6, $7) ORDER BY 1, 2, 3, 4 LIMIT $3)
    UNION ALL
    (SELECT (e.data ->> 'claimed_at')::timestamptz, e.job_id, 3, (e.data ->> 'attempt')::int8, 'job', e.subject, e.job_id, 'started',
            json_build_object('attempt', e.data -> 'attempt', 'node_id', e.data -> 'node_id'), NULL
     FROM windlass.event e
     WHERE e.type = 'released' AND e.at >= $1 AND e.at <= $2 + interval '1 minute'
       AND (e.data ->> 'claimed_at')::timestamptz <= $2
       AND ((e.data ->> 'claimed_at')::timestamptz, e.job_id, 3, (e.data ->> 'attempt')::int8) > ($1, $5, $6, $7)
     ORDER BY 1, 2, 3, 4 LIMIT $3)
    UNION ALL
    (SELECT j.created_at, j.id, 0, 0, 'job', replace(j.id::text, '-', ''), j.id, 'created',
            json_build_object('state', CASE WHEN j.was_blocked THEN 'blocked' ELSE 'queued' END, 'kind', j.kind), j.queue
     FROM windlass.job j
     WHERE j.id BETWEEN $4 AND $8 AND j.created_at >= $1 AND j.created_at <= $2 AND (j.created_at, j.id, 0, 0) > ($1, $5, $6, $7)
     ORDER BY 1, 2, 3, 4 LIMIT $3)
    UNION ALL
    (SELECT h.created_at, h.id, 0, 0, 'job', replace(h.id::text, '-', ''), h.id, 'created',
            json_build_object('state', CASE WHEN h.was_blocked THEN 'blocked' ELSE 'queued' END, 'kind', h.kind), h.queue
     FROM windlass.job_history h
     WHERE h.id BETWEEN $4 AND $8 AND h.finished_at >= $1 AND h.created_at >= $1 AND h.created_at <= $2
       AND (h.created_at, h.id, 0, 0) > ($1, $5, $6, $7)
     ORDER BY 1, 2, 3, 4 LIMIT $3)
    UNION ALL
    (SELECT j.started_at, j.id, 3, j.attempt, 'job', replace(j.id::text, '-', ''), j.id, 'started',
            json_build_object('attempt', j.attempt, 'node_id', j.node_id), j.queue
     FROM windlass.job j
     WHERE j.state = 'running' AND j.started_at >= $1 AND j.started_at <= $2 AND (j.started_at, j.id, 3, j.attempt) > ($1, $5, $6, $7)
     ORDER BY 1, 2, 3, 4 LIMIT $3)
    UNION ALL
    (SELECT h.started_at, h.id, 3, h.attempt, 'job', replace(h.id::text, '-', ''), h.id, 'started',
            json_build_object('attempt', h.attempt, 'node_id', h.node_id), h.queue
     FROM windlass.job_history h
     WHERE h.finished_at >= $1 AND h.outcome IS NOT NULL AND h.started_at >= $1 AND h.started_at <= $2
       AND (h.started_at, h.id, 3, h.attempt) > ($1, $5, $6, $7)
     ORDER BY 1, 2, 3, 4 LIMIT $3)
    UNION ALL
    (SELECT h.finished_at, h.id, 7, h.attempt, 'job', replace(h.id::text, '-', ''), h.id, 'finished',
            json_build_object('state', h.state, 'outcome', h.outcome, 'attempt', h.attempt, 'cause', h.cause, 'error', h.error), h.queue
     FROM windlass.job_history h
     WHERE h.finished_at >= $1 AND h.finished_at <= $2 AND (h.finished_at, h.id, 7, h.attempt) > ($1, $5, $6, $7)
     ORDER BY 1, 2, 3, 4 LIMIT $3)
    UNION ALL
    (SELECT a.started_at, a.job_id, 3, a.attempt, 'job', replace(a.job_id::text, '-', ''), a.job_id, 'started',
            json_build_object('attempt', a.attempt, 'node_id', a.node_id), NULL
     FROM windlass.attempt a
     WHERE a.ended_at >= $1 AND a.started_at >= $1 AND a.started_at <= $2 AND (a.started_at, a.job_id, 3, a.attempt) > ($1, $5, $6, $7)
     ORDER BY 1, 2, 3, 4 LIMIT $3)
    UNION ALL
    (SELECT a.ended_at, a.job_id, 6, a.attempt, 'job', replace(a.job_id::text, '-', ''), a.job_id,
            CASE a.outcome WHEN 'snoozed' THEN 'snoozed' WHEN 'lost' THEN 'rescued' ELSE 'retried' END,
            json_build_object('attempt', a.attempt, 'outcome', a.outcome, 'run_at', a.next_run_at, 'from_run_at', a.due_at, 'error', a.error),
            NULL
     FROM windlass.attempt a
     WHERE a.ended_at >= $1 AND a.ended_at <= $2 AND a.next_run_at IS NOT NULL AND (a.ended_at, a.job_id, 6, a.attempt) > ($1, $5, $6, $7)
     ORDER BY 1, 2, 3, 4 LIMIT $3)
    ORDER BY 1, 2, 3, 4
    LIMIT $3
) p
ORDER BY p.at, p.place_id, p.rank, p.number
