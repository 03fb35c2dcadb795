-- job_end_many: end jobs: the only statement that moves a job out of `running` for good.
-- params: id uuid[], attempt int4[], claim_id uuid[], state text[], outcome text[], result text[], error text[], cause text[],
--         detail text[], parents_too bool (also take jobs that have children or locks, or are steps; then the caller advances them in the same transaction)
-- `state` and `outcome` may be empty: all succeeded; so may what follows them: NULL for all. `unnest` fills up the shorter ones.
-- returns: id, state, queue, has_children, locks, and for steps execution_id, step, item, result, error, of every row ended; a row
-- whose fence moved on is left alone
-- Index: job primary key. The hot row goes and the history row comes in one statement; what never changes of it is LASTS in
-- model/job/draft.py. A job somebody asked to cancel
-- ends `cancelled` whatever its attempt says (G7). The hash of a callback token stays, so that a completion said twice is
-- recognised.
-- `must_be` is a column and not a literal, so that no plan enters by the index of running jobs: its dead entries outnumber
-- the living by far.
-- `= ANY (ARRAY[…])` is a join that only a probe of the index can serve: by a plain `=` a plan made for the empty table reads
-- all of the primary key for each batch (ADR 0011).
WITH gone AS (
    DELETE FROM windlass.job j
    USING (SELECT *, 'running' AS must_be
           FROM unnest($id::uuid[], $attempt::int4[], $claim_id::uuid[], $state::text[], $outcome::text[], $result::text[],
                       $error::text[], $cause::text[], $detail::text[])
               AS g(id, attempt, claim_id, state, outcome, result, error, cause, detail)
           OFFSET 0) s
    WHERE j.id = ANY (ARRAY[s.id]) AND j.claim_id = s.claim_id AND j.attempt = s.attempt AND j.state = s.must_be
      AND ($parents_too::bool OR NOT (j.has_children OR j.execution_id IS NOT NULL OR j.locks IS NOT NULL))
    RETURNING j.*, coalesce(s.state, 'succeeded') AS new_state, coalesce(s.outcome, 'succeeded') AS outcome, s.result, s.error AS new_error, s.cause, s.detail
)
INSERT INTO windlass.job_history (
    {job.lasting},
    run_at, deadline, started_at, cancel_requested_at, node_id, claim_id, attempt, snoozes, crashes, replays, waits_for,
    has_children, callback_hash, state, error, finished_at, outcome, cause, result, detail)
SELECT
    {job.lasting},
    run_at, deadline, started_at, cancel_requested_at, node_id, claim_id, attempt, snoozes, crashes, replays, waits_for,
    has_children, callback_hash, CASE WHEN cancel_requested_at IS NULL THEN new_state ELSE 'cancelled' END,
    CASE WHEN new_error IS NULL THEN error ELSE new_error::json END, clock_timestamp(),
    CASE WHEN cancel_requested_at IS NULL THEN outcome ELSE 'cancelled' END, cause,
    CASE WHEN cancel_requested_at IS NULL THEN result::json END,
    detail::json
FROM gone
RETURNING id, state, queue, has_children, locks, execution_id, step, item,
          CASE WHEN execution_id IS NOT NULL THEN result::text END AS result,
          CASE WHEN execution_id IS NOT NULL THEN error::text END AS error
