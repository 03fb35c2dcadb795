-- queue_share_many: which of these queues have no limit and are free, held so until the caller's commit; and the time.
-- params: name text[]     returns: name, now
-- Index: queue primary key. A share lock: batches do not stand in each other's way, but setting a limit waits for them.
-- One that a transaction holds is not waited for: the long way needs no row of a queue without limits.
SELECT name, clock_timestamp() AS now
FROM windlass.queue
WHERE name = ANY ($1::text[]) AND max_jobs IS NULL AND max_bytes IS NULL AND submit_rate IS NULL
ORDER BY name
FOR SHARE SKIP LOCKED
