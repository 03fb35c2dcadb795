-- attempt_list: the attempts of jobs that have a row of their own: all that did not end their job.
-- params: job_id uuid[]     returns: the rows in order
-- Index: attempt primary key.
SELECT job_id, attempt, node_id, claim_id, started_at, ended_at, outcome, next_run_at, error, due_at, detail
FROM windlass.attempt WHERE job_id = ANY ($1::uuid[]) ORDER BY job_id, attempt, ended_at
