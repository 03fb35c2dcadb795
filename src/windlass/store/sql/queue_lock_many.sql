-- queue_lock_many: lock the limited ones among the given queues, in one order for everybody.
-- params: name text[], default_max_jobs int8, default_max_bytes int8 (NULL: no limit)
-- returns: name, max_jobs, max_bytes of each limited queue
-- Its lock is held until the caller's commit; the counts are read by the next statement, whose snapshot is taken
-- after the lock was won and so sees what the previous holder committed.
SELECT name, coalesce(max_jobs, $2::int8) AS max_jobs, coalesce(max_bytes, $3::int8) AS max_bytes
FROM windlass.queue
WHERE name = ANY ($1::text[])
  AND (coalesce(max_jobs, $2::int8) IS NOT NULL OR coalesce(max_bytes, $3::int8) IS NOT NULL)
ORDER BY name
FOR UPDATE
