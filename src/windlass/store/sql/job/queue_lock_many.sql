-- queue_lock_many: lock the limited ones among the given queues, in one order for everybody, and wait for none.
-- params: name text[], default_max_jobs int8, default_max_bytes int8 (NULL: no limit)
-- returns: name, is_locked, max_jobs, max_bytes, submit_rate, submit_ahead (seconds until all that came so far would have come
--          one by one) of each limited queue; not locked: another transaction holds it
-- Index: queue primary key. Its lock is held until the caller's commit; the counts are read by the next statement, whose
-- snapshot is taken after the lock was won and so sees what the previous holder committed.
WITH won AS MATERIALIZED (
    SELECT name, coalesce(max_jobs, $2::int8) AS max_jobs, coalesce(max_bytes, $3::int8) AS max_bytes, submit_rate, submit_due_at
    FROM windlass.queue
    WHERE name = ANY ($1::text[])
      AND (coalesce(max_jobs, $2::int8) IS NOT NULL OR coalesce(max_bytes, $3::int8) IS NOT NULL OR submit_rate IS NOT NULL)
    ORDER BY name
    FOR UPDATE SKIP LOCKED
)
SELECT q.name, won.name IS NOT NULL AS is_locked, won.max_jobs, won.max_bytes, won.submit_rate,
       greatest(0, extract(epoch FROM greatest(won.submit_due_at, '1970-01-01') - clock_timestamp()))::float8 AS submit_ahead
FROM windlass.queue q LEFT JOIN won ON won.name = q.name
WHERE q.name = ANY ($1::text[])
  AND (won.name IS NOT NULL OR coalesce(q.max_jobs, $2::int8) IS NOT NULL OR coalesce(q.max_bytes, $3::int8) IS NOT NULL
       OR q.submit_rate IS NOT NULL)
