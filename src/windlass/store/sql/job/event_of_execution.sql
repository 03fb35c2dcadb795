-- event_of_execution: what happened to an execution and its jobs after a position, oldest first.
-- params: execution_id uuid, since timestamptz (when it was created), most int4, after_at timestamptz, after_id uuid,
--         after_rank int4, after_number int8
-- returns: as event_window
-- Index: execution primary key, job_step, job_history_step, event_job, event_execution; the primary key of attempt. All its jobs
-- are looked at for a page: events have no order of their own, they are columns. The same arms as event_window.
WITH job AS MATERIALIZED (
    SELECT id, queue, kind, coalesce(task, target, kind) AS name, was_blocked, created_at, attempt, node_id, state,
           CASE WHEN state = 'running' THEN started_at END AS started_at,
           NULL::timestamptz AS finished_at, NULL::text AS outcome, NULL::text AS cause, NULL::json AS error
    FROM windlass.job WHERE execution_id = $1
    UNION ALL
    SELECT id, queue, kind, coalesce(task, target, kind) AS name, was_blocked, created_at, attempt, node_id, state,
           CASE WHEN outcome IS NOT NULL THEN started_at END, finished_at, outcome, cause, error
    FROM windlass.job_history WHERE execution_id = $1 AND finished_at >= $2::timestamptz - interval '1 hour'
), told AS (
    SELECT x.created_at AS at, x.id AS position_id, 0 AS rank, 0::int8 AS number, 'execution' AS noun, NULL::uuid AS job_id, 'created' AS type,
           json_build_object('workflow', x.workflow, 'version', x.version) AS data, NULL::text AS queue, x.workflow AS name
    FROM windlass.execution x WHERE x.id = $1
    UNION ALL
    SELECT x.refreshed_at, x.id, 7, 0, 'execution', NULL, 'finished',
           json_build_object('state', x.state, 'workflow', x.workflow, 'version', x.version, 'error', x.error), NULL, x.workflow
    FROM windlass.execution x WHERE x.id = $1 AND x.finished_at IS NOT NULL
    UNION ALL
    SELECT e.at, $1, CASE e.type WHEN 'finished' THEN 7 ELSE 9 END, CASE e.type WHEN 'finished' THEN 0 ELSE e.seq END, 'execution', NULL,
           e.type, e.data, NULL, NULL
    FROM windlass.event e WHERE e.noun = 'execution' AND e.subject = replace($1::uuid::text, '-', '')
    UNION ALL
    SELECT e.at, e.job_id,
           CASE e.type WHEN 'unblocked' THEN 1 WHEN 'promoted' THEN 2 WHEN 'debounced' THEN 2 WHEN 'cancel_requested' THEN 4 WHEN 'released' THEN 5
                       WHEN 'finished' THEN 7 WHEN 'replayed' THEN 8 ELSE 9 END,
           CASE e.type WHEN 'finished' THEN (e.data ->> 'attempt')::int8 ELSE e.seq END, 'job', e.job_id, e.type, e.data, j.queue, j.name
    FROM job j JOIN windlass.event e ON e.job_id = j.id
    UNION ALL
    SELECT (e.data ->> 'claimed_at')::timestamptz, e.job_id, 3, (e.data ->> 'attempt')::int8, 'job', e.job_id, 'started',
           json_build_object('attempt', e.data -> 'attempt', 'node_id', e.data -> 'node_id'), j.queue, j.name
    FROM job j JOIN windlass.event e ON e.job_id = j.id AND e.type = 'released'
    UNION ALL
    SELECT j.created_at, j.id, 0, 0, 'job', j.id, 'created',
           json_build_object('state', CASE WHEN j.was_blocked THEN 'blocked' ELSE 'queued' END, 'kind', j.kind), j.queue, j.name
    FROM job j
    UNION ALL
    SELECT j.started_at, j.id, 3, j.attempt, 'job', j.id, 'started', json_build_object('attempt', j.attempt, 'node_id', j.node_id), j.queue, j.name
    FROM job j WHERE j.started_at IS NOT NULL
    UNION ALL
    SELECT j.finished_at, j.id, 7, j.attempt, 'job', j.id, 'finished',
           json_build_object('state', j.state, 'outcome', j.outcome, 'attempt', j.attempt, 'cause', j.cause, 'error', j.error), j.queue, j.name
    FROM job j WHERE j.finished_at IS NOT NULL
    UNION ALL
    SELECT a.started_at, a.job_id, 3, a.attempt, 'job', a.job_id, 'started',
           json_build_object('attempt', a.attempt, 'node_id', a.node_id), j.queue, j.name
    FROM job j JOIN windlass.attempt a ON a.job_id = j.id
    UNION ALL
    SELECT a.ended_at, a.job_id, 6, a.attempt, 'job', a.job_id,
           CASE a.outcome WHEN 'snoozed' THEN 'snoozed' WHEN 'lost' THEN 'rescued' ELSE 'retried' END,
           json_build_object('attempt', a.attempt, 'outcome', a.outcome, 'run_at', a.next_run_at, 'from_run_at', a.due_at, 'error', a.error),
           j.queue, j.name
    FROM job j JOIN windlass.attempt a ON a.job_id = j.id AND a.next_run_at IS NOT NULL
)
SELECT t.at, t.noun, replace(t.position_id::text, '-', '') AS subject, t.job_id, $1::uuid AS execution_id, t.type, t.number, t.data, t.queue, t.name
FROM told t WHERE (t.at, t.position_id, t.rank, t.number) > ($4, $5::uuid, $6::int4, $7::int8)
ORDER BY t.at, t.position_id, t.rank, t.number LIMIT $3
