-- lock_idle: locks that nobody has taken for long, held: who would take one now waits.
-- params: kept float8 seconds, most int4     returns: name
-- Index: lock_idle. A lock that has a capacity of its own is kept: somebody set it. A limit comes back with the next job that
-- names it; while its rate keeps the next one waiting it is kept.
SELECT l.name FROM windlass.lock l
WHERE (l.capacity = 1 OR l.is_limit) AND (l.rate_due_at IS NULL OR l.rate_due_at < clock_timestamp()) AND l.changed_at < clock_timestamp() - $1::float8 * interval '1 second'
ORDER BY l.changed_at LIMIT $2
FOR UPDATE SKIP LOCKED
