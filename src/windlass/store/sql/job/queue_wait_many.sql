-- queue_wait_many: as queue_lock_many, for a caller that stands in nobody's way: waits for those that others hold.
-- params: name text[], default_max_jobs int8, default_max_bytes int8 (NULL: no limit)
-- returns: name, is_locked (always), max_jobs, max_bytes, submit_rate, submit_ahead of each limited queue
-- Index: queue primary key. The caller has set a short lock_timeout. Waiting is in turn: nodes that share a busy queue
-- all get it, which trying again and again would not promise.
SELECT name, true AS is_locked, coalesce(max_jobs, $2::int8) AS max_jobs, coalesce(max_bytes, $3::int8) AS max_bytes,
       submit_rate, greatest(0, extract(epoch FROM greatest(submit_due_at, '1970-01-01') - clock_timestamp()))::float8 AS submit_ahead
FROM windlass.queue
WHERE name = ANY ($1::text[])
  AND (coalesce(max_jobs, $2::int8) IS NOT NULL OR coalesce(max_bytes, $3::int8) IS NOT NULL OR submit_rate IS NOT NULL)
ORDER BY name
FOR UPDATE
