-- execution_refresh_many: bring executions up to date with their jobs.
-- params: id uuid[], each once and in order, so that two batches never wait for each other in a circle
-- returns: id, word, state, jobs, is_ended_now, needs_conclusion of every execution but those whose fence was lost: somebody
--          else wrote them in the meantime, perhaps from an older snapshot, and they are to be asked for again.
--          word: 'written', 'same' (it has ended and nothing moved), 'gone' (there is no such execution)
-- Index: execution primary key, job_step, job_history_step. All jobs of the batch are aggregated and all executions updated
-- in this one statement; what is decided is that of model/workflow/execution.py. `finished_at` is bounded on both sides so that days
-- before the execution and days to come are pruned, and the default partition too: measured, a third of the reading less.
-- What is open is written in any case: its fence moves on, and nobody's older snapshot can be written after this one.
-- `refreshed_at` of what is open is when this began, by whose snapshot its jobs were counted. Of an end it is when it is first
-- written, at which the event is told: counting may take longer than followers look back.
-- An end that is more than a state is left to engine/executions/conclude.py. Without jobs there is nothing to say: it waits for its
-- turn, or they were dropped with their days.
WITH told AS MATERIALIZED (
    SELECT g.id, e.id IS NULL AS is_gone, e.refresh_seq, e.begun_at, e.finished_at, e.paused_at, e.cancel_requested_at,
           e.doom, e.has_conclusion, e.state, e.counts::text AS counts, c.*,
           c.blocked + c.queued + c.running AS open,
           c.blocked + c.queued + c.running + c.succeeded + c.dead + c.cancelled + c.expired + c.skipped AS jobs,
           json_strip_nulls(json_build_object(
               'blocked', nullif(c.blocked, 0), 'queued', nullif(c.queued, 0), 'running', nullif(c.running, 0),
               'succeeded', nullif(c.succeeded, 0), 'dead', nullif(c.dead, 0), 'cancelled', nullif(c.cancelled, 0),
               'expired', nullif(c.expired, 0), 'skipped', nullif(c.skipped, 0)))::text AS new_counts
    FROM unnest($1::uuid[]) AS g(id)
    LEFT JOIN windlass.execution e ON e.id = ANY (ARRAY[g.id])
    CROSS JOIN LATERAL (
        SELECT count(*) FILTER (WHERE j.state = 'blocked') AS blocked,
               count(*) FILTER (WHERE j.state = 'queued') AS queued,
               count(*) FILTER (WHERE j.state = 'running') AS running,
               count(*) FILTER (WHERE j.state = 'succeeded') AS succeeded,
               count(*) FILTER (WHERE j.state = 'dead') AS dead,
               count(*) FILTER (WHERE j.state = 'cancelled') AS cancelled,
               count(*) FILTER (WHERE j.state = 'expired') AS expired,
               count(*) FILTER (WHERE j.state = 'skipped') AS skipped,
               count(*) FILTER (WHERE j.state IN ('dead', 'expired') AND NOT j.is_foreseen) AS unforeseen_failed,
               count(*) FILTER (WHERE j.state = 'cancelled' AND NOT j.is_foreseen) AS unforeseen_cancelled,
               min(j.started_at) AS first_at, max(j.finished_at) AS last_at
        FROM (SELECT state, is_foreseen, started_at, NULL::timestamptz AS finished_at
              FROM windlass.job WHERE execution_id = g.id
              UNION ALL
              SELECT state, is_foreseen, started_at, finished_at
              FROM windlass.job_history
              WHERE execution_id = g.id AND finished_at >= e.created_at - interval '1 hour'
                AND finished_at < now() + interval '1 hour') j
    ) c
), judged AS MATERIALIZED (
    SELECT *,
        CASE
            WHEN jobs = 0 AND begun_at IS NULL AND finished_at IS NULL OR open > 0 THEN
                CASE WHEN paused_at IS NOT NULL THEN 'paused' WHEN first_at IS NULL THEN 'pending' ELSE 'running' END
            WHEN jobs = 0 OR has_conclusion THEN state
            WHEN doom IS NOT NULL OR unforeseen_failed > 0 THEN 'failed'
            WHEN unforeseen_cancelled > 0 OR cancel_requested_at IS NOT NULL THEN 'cancelled'
            ELSE 'succeeded'
        END AS new_state,
        CASE WHEN open > 0 THEN NULL WHEN jobs = 0 OR has_conclusion THEN finished_at ELSE last_at END AS new_finished_at,
        has_conclusion AND jobs > 0 AND open = 0 AND (finished_at IS NULL OR finished_at < last_at) AS needs_conclusion
    FROM told
), decided AS MATERIALIZED (
    SELECT *, finished_at IS NOT NULL AND new_finished_at IS NOT DISTINCT FROM finished_at AND new_state = state
              AND (jobs = 0 OR new_counts = counts) AS is_same
    FROM judged
), written AS (
    UPDATE windlass.execution e
    SET state = d.new_state, finished_at = d.new_finished_at, started_at = least(e.started_at, d.first_at),
        counts = CASE WHEN d.jobs = 0 THEN e.counts ELSE d.new_counts::json END,
        error = CASE
            WHEN d.open > 0 THEN NULL
            WHEN d.jobs = 0 OR d.has_conclusion THEN e.error
            WHEN d.doom IS NOT NULL THEN json_build_object('cause', d.doom)
            WHEN d.new_state = 'failed' THEN (
                SELECT json_build_object('cause', coalesce(h.cause, h.state), 'message', h.error ->> 'message', 'step', h.step,
                                         'job_id', 'job_' || replace(h.id::text, '-', ''))
                FROM windlass.job_history h
                WHERE h.execution_id = d.id AND h.state IN ('dead', 'expired') AND NOT h.is_foreseen
                  AND h.finished_at >= e.created_at - interval '1 hour' AND h.finished_at < now() + interval '1 hour'
                ORDER BY h.finished_at LIMIT 1)
        END,
        refreshed_at = CASE WHEN d.new_finished_at IS NULL THEN now() WHEN d.new_finished_at = d.finished_at THEN e.refreshed_at
                            ELSE clock_timestamp() END,
        refresh_seq = e.refresh_seq + 1
    FROM decided d
    WHERE e.id = ANY (ARRAY[d.id]) AND e.refresh_seq = d.refresh_seq AND NOT d.is_same
    RETURNING e.id, e.state, d.jobs, d.finished_at IS NULL AND e.finished_at IS NOT NULL AS is_ended_now, d.needs_conclusion
)
SELECT id, 'written' AS word, state, jobs, is_ended_now, needs_conclusion FROM written
UNION ALL
SELECT id, CASE WHEN is_gone THEN 'gone' ELSE 'same' END, state, jobs, false, needs_conclusion
FROM decided WHERE is_gone OR is_same
