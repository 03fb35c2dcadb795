-- lock_look_again_many: somebody has to look at these waiters a moment from now.
-- params: name text[] (locks whose rows the caller holds: nothing else is touched), waiter uuid[], again float8 (seconds)
-- returns: nothing
-- Index: lock_wait_waiter.
UPDATE windlass.lock_wait w SET look_at = clock_timestamp() + $3::float8 * interval '1 second'
WHERE w.waiter = ANY ($2::uuid[]) AND w.lock = ANY ($1::text[]) AND w.until IS NULL
