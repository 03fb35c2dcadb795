-- job_replay_many: bring finished jobs back: from the history to the queue, with all their tries again.
-- params: id uuid[], state text (only those that are in it now; NULL: any), ended_by timestamptz (and ended by then; NULL: any time)
-- returns: id, queue, priority, run_at, parked_for, execution_id of every job brought back
-- Index: job_history primary key. Needs windlass.verb = 'replay' in this transaction. How the job had ended stays on record:
-- its last attempt goes to `attempt`, its end becomes an event row. The fence goes on counting; `snoozes` is raised to it, so
-- that earlier tries are not held against the job. One that has locks is parked for them: the caller takes it into the wait lists.
-- A step of a paused execution is parked for that. Children that were not told yet of the end that is taken back wait for the
-- next one: until then nobody tells them of it, nor those who come to wait for the job meanwhile (parent_end primary key).
-- What never changes of a job is LASTS in model/job/draft.py.
WITH gone AS (
    DELETE FROM windlass.job_history h WHERE h.id = ANY ($1::uuid[]) AND ($2::text IS NULL OR h.state = $2)
      AND ($3::timestamptz IS NULL OR h.finished_at <= $3) RETURNING h.*
), untold AS (
    DELETE FROM windlass.parent_end e USING gone WHERE e.parent_id = ANY (ARRAY[gone.id]) RETURNING e.parent_id
), noted_attempt AS (
    INSERT INTO windlass.attempt (job_id, attempt, node_id, claim_id, started_at, ended_at, outcome, error, due_at, detail)
    SELECT id, attempt, node_id, claim_id, started_at, finished_at, outcome, error, run_at, detail FROM gone WHERE outcome IS NOT NULL
), noted_end AS (
    INSERT INTO windlass.event (at, noun, subject, job_id, type, data)
    SELECT finished_at, 'job', replace(id::text, '-', ''), id, 'finished',
           json_build_object('state', state, 'outcome', outcome, 'attempt', attempt, 'cause', cause, 'error', error)
    FROM gone
), back AS (
    INSERT INTO windlass.job (
        {job.lasting},
        run_at, deadline, started_at, attempt, snoozes, replays, has_children, state, error, parked_at, parked_for)
    SELECT
        {job.lasting},
        clock_timestamp(), NULL, started_at, attempt, attempt, replays + 1,
        EXISTS (SELECT FROM untold WHERE untold.parent_id = gone.id), 'queued', error,
        CASE WHEN held.back_for IS NOT NULL THEN clock_timestamp() END, held.back_for
    FROM gone CROSS JOIN LATERAL (
        SELECT CASE WHEN locks IS NOT NULL THEN 'lock'
                    WHEN execution_id IS NOT NULL AND windlass.execution_is_paused(execution_id) THEN 'paused' END AS back_for) held
    RETURNING id, queue, priority, run_at, attempt, parked_for, execution_id
), noted_replay AS (
    INSERT INTO windlass.event (noun, subject, job_id, type, data)
    SELECT 'job', replace(b.id::text, '-', ''), b.id, 'replayed', json_build_object('run_at', b.run_at, 'attempt', b.attempt, 'from_run_at', gone.run_at)
    FROM back b JOIN gone ON gone.id = b.id
)
SELECT id, queue, priority, run_at, parked_for, execution_id FROM back
