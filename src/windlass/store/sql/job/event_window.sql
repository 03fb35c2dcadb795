-- event_window: what happened after a position and until an instant, oldest first: event rows, and the ordinary events that
-- are columns.
-- params: after_at timestamptz, until timestamptz, most int4, first_id uuid (no job created since `after_at` has a lower
--         id), after_job uuid, after_rank int4, after_number int8, last_id uuid (nor one created by `until` a higher)
-- returns: at, noun, subject, job_id, execution_id, type, number, data, queue, name (of the task, host, kind or workflow)
-- Index: event primary key; primary keys of job and execution for `created` (an id holds its time); BRIN on attempt and
-- job_history; execution_told: an execution's end is told at the instant at which it became known. Each arm is cut to the
-- page by the whole order, because a batch of jobs shares one instant. Ranks are those of model/job/event.py.
-- A claim that was handed back has its `started` in the `released` row, which follows within the hold of a prefetch.
SELECT p.at, p.noun, p.subject, p.job_id, p.type, p.number, p.data, coalesce(p.queue, job.queue) AS queue,
       coalesce(p.execution_id, job.execution_id) AS execution_id, coalesce(p.name, job.name) AS name
FROM (
    (SELECT * FROM (
        SELECT e.at,
               coalesce(e.job_id, CASE e.noun WHEN 'execution' THEN e.subject::uuid END, '00000000-0000-0000-0000-000000000000') AS position_id,
               CASE WHEN e.noun = 'execution' AND e.type = 'finished' THEN 7 WHEN e.noun <> 'job' THEN 9 ELSE
                    CASE e.type WHEN 'unblocked' THEN 1 WHEN 'promoted' THEN 2 WHEN 'debounced' THEN 2 WHEN 'cancel_requested' THEN 4
                                WHEN 'released' THEN 5 WHEN 'finished' THEN 7 WHEN 'replayed' THEN 8 ELSE 9 END
               END AS rank,
               CASE WHEN e.type <> 'finished' THEN e.seq WHEN e.noun = 'job' THEN (e.data ->> 'attempt')::int8
                    WHEN e.noun = 'execution' THEN 0 ELSE e.seq END AS number,
               e.noun, e.subject, e.job_id, e.type, e.data, CASE e.noun WHEN 'queue' THEN e.subject END AS queue,
               CASE e.noun WHEN 'execution' THEN e.subject::uuid END AS execution_id, NULL::text AS name
        FROM windlass.event e WHERE e.at >= $1 AND e.at <= $2) a
     WHERE (at, position_id, rank, number) > ($1, $5, $6, $7) ORDER BY 1, 2, 3, 4 LIMIT $3)
    UNION ALL
    (SELECT (e.data ->> 'claimed_at')::timestamptz, e.job_id, 3, (e.data ->> 'attempt')::int8, 'job', e.subject, e.job_id, 'started',
            json_build_object('attempt', e.data -> 'attempt', 'node_id', e.data -> 'node_id'), NULL, NULL, NULL
     FROM windlass.event e
     WHERE e.type = 'released' AND e.at >= $1 AND e.at <= $2 + interval '1 minute'
       AND (e.data ->> 'claimed_at')::timestamptz <= $2
       AND ((e.data ->> 'claimed_at')::timestamptz, e.job_id, 3, (e.data ->> 'attempt')::int8) > ($1, $5, $6, $7)
     ORDER BY 1, 2, 3, 4 LIMIT $3)
    UNION ALL
    (SELECT j.created_at, j.id, 0, 0, 'job', replace(j.id::text, '-', ''), j.id, 'created',
            json_build_object('state', CASE WHEN j.was_blocked THEN 'blocked' ELSE 'queued' END, 'kind', j.kind), j.queue, j.execution_id,
            coalesce(j.task, j.target, j.kind)
     FROM windlass.job j
     WHERE j.id BETWEEN $4 AND $8 AND j.created_at >= $1 AND j.created_at <= $2 AND (j.created_at, j.id, 0, 0) > ($1, $5, $6, $7)
     ORDER BY 1, 2, 3, 4 LIMIT $3)
    UNION ALL
    (SELECT h.created_at, h.id, 0, 0, 'job', replace(h.id::text, '-', ''), h.id, 'created',
            json_build_object('state', CASE WHEN h.was_blocked THEN 'blocked' ELSE 'queued' END, 'kind', h.kind), h.queue, h.execution_id,
            coalesce(h.task, h.target, h.kind)
     FROM windlass.job_history h
     WHERE h.id BETWEEN $4 AND $8 AND h.finished_at >= $1 AND h.created_at >= $1 AND h.created_at <= $2
       AND (h.created_at, h.id, 0, 0) > ($1, $5, $6, $7)
     ORDER BY 1, 2, 3, 4 LIMIT $3)
    UNION ALL
    (SELECT j.started_at, j.id, 3, j.attempt, 'job', replace(j.id::text, '-', ''), j.id, 'started',
            json_build_object('attempt', j.attempt, 'node_id', j.node_id), j.queue, j.execution_id,
            coalesce(j.task, j.target, j.kind)
     FROM windlass.job j
     WHERE j.state = 'running' AND j.started_at >= $1 AND j.started_at <= $2 AND (j.started_at, j.id, 3, j.attempt) > ($1, $5, $6, $7)
     ORDER BY 1, 2, 3, 4 LIMIT $3)
    UNION ALL
    (SELECT h.started_at, h.id, 3, h.attempt, 'job', replace(h.id::text, '-', ''), h.id, 'started',
            json_build_object('attempt', h.attempt, 'node_id', h.node_id), h.queue, h.execution_id,
            coalesce(h.task, h.target, h.kind)
     FROM windlass.job_history h
     WHERE h.finished_at >= $1 AND h.outcome IS NOT NULL AND h.started_at >= $1 AND h.started_at <= $2
       AND (h.started_at, h.id, 3, h.attempt) > ($1, $5, $6, $7)
     ORDER BY 1, 2, 3, 4 LIMIT $3)
    UNION ALL
    (SELECT h.finished_at, h.id, 7, h.attempt, 'job', replace(h.id::text, '-', ''), h.id, 'finished',
            json_build_object('state', h.state, 'outcome', h.outcome, 'attempt', h.attempt, 'cause', h.cause, 'error', h.error), h.queue, h.execution_id,
            coalesce(h.task, h.target, h.kind)
     FROM windlass.job_history h
     WHERE h.finished_at >= $1 AND h.finished_at <= $2 AND (h.finished_at, h.id, 7, h.attempt) > ($1, $5, $6, $7)
     ORDER BY 1, 2, 3, 4 LIMIT $3)
    UNION ALL
    (SELECT a.started_at, a.job_id, 3, a.attempt, 'job', replace(a.job_id::text, '-', ''), a.job_id, 'started',
            json_build_object('attempt', a.attempt, 'node_id', a.node_id), NULL, NULL, NULL
     FROM windlass.attempt a
     WHERE a.ended_at >= $1 AND a.started_at >= $1 AND a.started_at <= $2 AND (a.started_at, a.job_id, 3, a.attempt) > ($1, $5, $6, $7)
     ORDER BY 1, 2, 3, 4 LIMIT $3)
    UNION ALL
    (SELECT a.ended_at, a.job_id, 6, a.attempt, 'job', replace(a.job_id::text, '-', ''), a.job_id,
            CASE a.outcome WHEN 'snoozed' THEN 'snoozed' WHEN 'lost' THEN 'rescued' ELSE 'retried' END,
            json_build_object('attempt', a.attempt, 'outcome', a.outcome, 'run_at', a.next_run_at, 'from_run_at', a.due_at, 'error', a.error),
            NULL, NULL, NULL
     FROM windlass.attempt a
     WHERE a.ended_at >= $1 AND a.ended_at <= $2 AND a.next_run_at IS NOT NULL AND (a.ended_at, a.job_id, 6, a.attempt) > ($1, $5, $6, $7)
     ORDER BY 1, 2, 3, 4 LIMIT $3)
    UNION ALL
    (SELECT x.created_at, x.id, 0, 0, 'execution', replace(x.id::text, '-', ''), NULL, 'created',
            json_build_object('workflow', x.workflow, 'version', x.version), NULL, x.id, x.workflow
     FROM windlass.execution x
     WHERE x.id BETWEEN $4 AND $8 AND x.created_at >= $1 AND x.created_at <= $2 AND (x.created_at, x.id, 0, 0) > ($1, $5, $6, $7)
     ORDER BY 1, 2, 3, 4 LIMIT $3)
    UNION ALL
    (SELECT x.refreshed_at, x.id, 7, 0, 'execution', replace(x.id::text, '-', ''), NULL, 'finished',
            json_build_object('state', x.state, 'workflow', x.workflow, 'version', x.version, 'error', x.error), NULL, x.id, x.workflow
     FROM windlass.execution x
     WHERE x.finished_at IS NOT NULL AND x.refreshed_at >= $1 AND x.refreshed_at <= $2
       AND (x.refreshed_at, x.id, 7, 0) > ($1, $5, $6, $7)
     ORDER BY 1, 2, 3, 4 LIMIT $3)
    ORDER BY 1, 2, 3, 4
    LIMIT $3
) p
LEFT JOIN LATERAL (
    SELECT j.queue, j.execution_id, coalesce(j.task, j.target, j.kind) AS name FROM windlass.job j WHERE j.id = p.job_id
    UNION ALL
    SELECT h.queue, h.execution_id, coalesce(h.task, h.target, h.kind) FROM windlass.job_history h WHERE h.id = p.job_id
    LIMIT 1
) job ON p.job_id IS NOT NULL AND p.queue IS NULL
ORDER BY p.at, p.position_id, p.rank, p.number
