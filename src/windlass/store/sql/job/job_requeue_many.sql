-- job_requeue_many: give back jobs whose attempt ended without ending the job: retries and snoozes.
-- params: id uuid[], attempt int4[], claim_id uuid[], outcome text[], rest float8[] seconds, error text[], crashed bool[],
--         node_id uuid[] (who ran it), detail text[]
-- returns: id, run_at, queue, priority, parked_for of every row moved; a row whose fence moved on, or that somebody asked to
-- cancel, is left alone
-- Index: job primary key. The attempt that ended is written to `attempt` by the same statement, with the instant at which
-- it had been due (`was` is the row as it stood: run_at does not change while a job runs).
-- A job that rests runs not, so its limits are given back, and it waits for them again, behind who came before it is due: all
-- by this statement, so no death in between loses a place. No lock's row is asked for here; somebody looks at these waiters at
-- once (look_at), which gives on what became free. A level of priority is worth LOCK_LEAD_SECONDS of limits.py.
-- `must_be` as in job_end_many.
WITH moved AS (
    UPDATE windlass.job j
    SET state = 'queued', node_id = NULL, claim_id = NULL,
        run_at = clock_timestamp() + s.rest * interval '1 second',
        error = coalesce(s.error::json, j.error),
        snoozes = j.snoozes + (s.outcome = 'snoozed')::int,
        crashes = j.crashes + s.crashed::int, has_pass = false, callback_until = NULL, callback_hash = NULL,
        parked_at = CASE WHEN j.limits IS NOT NULL THEN clock_timestamp() END, parked_for = CASE WHEN j.limits IS NOT NULL THEN 'lock' END
    FROM (SELECT *, 'running' AS must_be
          FROM unnest($id::uuid[], $attempt::int4[], $claim_id::uuid[], $outcome::text[], $rest::float8[], $error::text[],
                      $crashed::bool[], $node_id::uuid[], $detail::text[])
              AS g(id, attempt, claim_id, outcome, rest, error, crashed, node_id, detail)
          OFFSET 0) s
    JOIN windlass.job was ON was.id = ANY (ARRAY[s.id])
    WHERE j.id = ANY (ARRAY[s.id]) AND j.claim_id = s.claim_id AND j.attempt = s.attempt AND j.state = s.must_be
      AND j.cancel_requested_at IS NULL
    RETURNING j.id, j.attempt, j.started_at, j.run_at, j.queue, j.priority, s.claim_id, s.outcome, s.error, s.node_id,
        s.detail, was.run_at AS due_at, j.limits, j.parked_for
), noted AS (
    INSERT INTO windlass.attempt (job_id, attempt, node_id, claim_id, started_at, ended_at, outcome, next_run_at, error, due_at,
                                  detail)
    SELECT m.id, m.attempt, m.node_id, m.claim_id, m.started_at, clock_timestamp(), m.outcome, m.run_at, m.error::json, m.due_at,
           m.detail::json
    FROM moved m
), given_back AS (
    DELETE FROM windlass.lock_hold h USING moved m WHERE m.limits IS NOT NULL AND h.job_id = ANY (ARRAY[m.id]) AND h.lock LIKE 'limit/%'
), waits AS (
    INSERT INTO windlass.lock_wait (lock, waiter, priority, since, rank, look_at)
    SELECT ask.lock, m.id, m.priority, m.run_at, m.run_at - m.priority * interval '300 seconds', clock_timestamp()
    FROM moved m CROSS JOIN LATERAL json_to_recordset(m.limits) AS ask(lock text)
    WHERE m.limits IS NOT NULL
    ON CONFLICT DO NOTHING
)
SELECT id, run_at, queue, priority, parked_for FROM moved
