-- job_drop_many: end jobs that are not running: cancelled, skipped, dead by a parent, or past their deadline.
-- params: id uuid[], state text[], error text[], cause text[]
-- returns: as job_end_many
-- Index: job primary key, dependency_child. The caller advances the children in the same transaction. Jobs are locked by id and
-- before their links, as in child_advance. `may_be` is a column, as `must_be` in job_end_many: no plan enters by an index of
-- states. What never changes of a job is LASTS in model/job/draft.py.
WITH gone AS (
    DELETE FROM windlass.job j
    USING (SELECT *, ARRAY['queued', 'blocked'] AS may_be
           FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[]) AS g(id, state, error, cause)
           ORDER BY id OFFSET 0) s
    WHERE j.id = ANY (ARRAY[s.id]) AND j.state = ANY (s.may_be)
    RETURNING j.*, s.state AS new_state, s.error AS new_error, s.cause
), unlinked AS (
    DELETE FROM windlass.dependency d USING gone WHERE d.child_id = ANY (ARRAY[gone.id]) AND gone.state = 'blocked'
)
INSERT INTO windlass.job_history (
    {job.lasting},
    run_at, deadline, started_at, cancel_requested_at, attempt, snoozes, crashes, replays, waits_for, has_children, state,
    error, finished_at, outcome, cause)
SELECT
    {job.lasting},
    run_at, deadline, started_at, CASE new_state WHEN 'cancelled' THEN clock_timestamp() END, attempt, snoozes, crashes,
    replays, waits_for, has_children, new_state,
    CASE WHEN new_error IS NULL THEN error ELSE new_error::json END, clock_timestamp(), NULL, cause
FROM gone
RETURNING id, state, queue, has_children, locks, execution_id, step, item, NULL::text AS result, error::text AS error
