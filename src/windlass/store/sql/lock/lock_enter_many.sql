-- lock_enter_many: put jobs that are parked for their locks into the wait lists of these.
-- params: job_id uuid[], lead float8 (seconds that a level of priority is worth), looks_now bool (nobody grants in this transaction:
--         of those that are due somebody has to look at the first of each lock, and sees the others)
-- returns: of every row lock, due_seconds (until somebody has to look; NULL: nobody has to)
-- Index: job primary key; the new rows land in lock_wait_line. A job that is due later waits from now on, but its turn
-- cannot come before it is due: `look_at` says when somebody has to look. No row of a lock is held here. What a
-- job kept while it rested (its locks, not its limits) it does not wait for.
INSERT INTO windlass.lock_wait (lock, waiter, priority, since, rank, look_at)
SELECT wanted.lock, j.id, j.priority, due.at, due.at - j.priority * $2::float8 * interval '1 second',
       CASE WHEN j.run_at > now_is.at THEN j.run_at
            WHEN $3::bool AND row_number() OVER (PARTITION BY wanted.lock, j.run_at > now_is.at ORDER BY due.at - j.priority * $2::float8 * interval '1 second') = 1
            THEN now_is.at END
FROM (SELECT clock_timestamp() AS at) now_is
CROSS JOIN windlass.job j
CROSS JOIN LATERAL unnest(j.locks) AS wanted(lock)
CROSS JOIN LATERAL (SELECT greatest(j.run_at, now_is.at) AS at) due
WHERE j.id = ANY ($1::uuid[]) AND j.parked_for = 'lock'
  AND NOT EXISTS (SELECT FROM windlass.lock_hold h WHERE h.job_id = j.id AND h.lock = wanted.lock)
ON CONFLICT DO NOTHING
RETURNING lock, extract(epoch FROM look_at - clock_timestamp())::float8 AS due_seconds
