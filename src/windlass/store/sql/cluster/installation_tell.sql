-- installation_tell: what the owner's settings say for queues and jobs that do not, for windlass.enqueue.
-- params: queue_max_jobs int8, queue_max_bytes int8 (NULL: no limit), retry_max_attempts int4     returns: nothing
-- Index: installation primary key; once for each start of a node. The node that started last is believed.
INSERT INTO windlass.installation AS known (queue_max_jobs, queue_max_bytes, retry_max_attempts) VALUES ($1, $2, $3)
ON CONFLICT (is_only) DO UPDATE SET
    queue_max_jobs = $1, queue_max_bytes = $2, retry_max_attempts = $3, told_at = now()
WHERE (known.queue_max_jobs, known.queue_max_bytes, known.retry_max_attempts) IS DISTINCT FROM ($1::int8, $2::int8, $3::int4)
