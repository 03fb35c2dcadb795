-- queue_size_many: unfinished jobs and their input bytes, exact.
-- params: queue text[]     returns: queue, jobs, bytes
-- Index: counter primary key and counter_delta_queue.
SELECT queue, sum(blocked + queued + running)::int8 AS jobs, sum(bytes)::int8 AS bytes
FROM (
    SELECT queue, blocked, queued, running, bytes FROM windlass.counter WHERE queue = ANY ($1::text[])
    UNION ALL
    SELECT queue, blocked, queued, running, bytes FROM windlass.counter_delta WHERE queue = ANY ($1::text[])
) part
GROUP BY queue
