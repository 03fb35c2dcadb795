-- queue_lock_claim: lock limited queues before claiming from them, so that a limit holds in the whole cluster.
-- params: name text[]     returns: name
-- A queue that another node is claiming from at this moment is left to it.
SELECT name FROM windlass.queue
WHERE name = ANY ($1::text[]) AND NOT is_paused AND (max_running IS NOT NULL OR rate IS NOT NULL)
ORDER BY name
FOR UPDATE SKIP LOCKED
