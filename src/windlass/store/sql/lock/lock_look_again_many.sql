-- lock_look_again_many: somebody has to look at these waiters a moment from now.
-- params: name text[] (locks whose rows the caller holds: nothing else is touched), waiter uuid[], again float8 (seconds)
-- returns: nothing
-- Index: lock_wait_waiter. As in lock_leave_many nobody is waited for.
UPDATE windlass.lock_wait w SET look_at = clock_timestamp() + $3::float8 * interval '1 second'
FROM (SELECT o.lock, o.waiter FROM windlass.lock_wait o
      WHERE o.waiter = ANY ($2::uuid[]) AND o.lock = ANY ($1::text[]) AND o.until IS NULL
      FOR NO KEY UPDATE SKIP LOCKED) free
WHERE w.lock = ANY (ARRAY[free.lock]) AND w.waiter = ANY (ARRAY[free.waiter])
