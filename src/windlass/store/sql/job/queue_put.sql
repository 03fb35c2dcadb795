-- queue_put: set a queue's limits; NULL takes a limit away. Makes the queue when it is new.
-- params: name text, max_jobs int8, max_bytes int8, max_running int4, rate float8,
--         submit_rate float8     returns: name
-- Another rate holds from now on: what is owed by the old one, up to a thousand seconds for a start, is owed no more.
WITH put AS (
    INSERT INTO windlass.queue (name, max_jobs, max_bytes, max_running, rate, submit_rate) VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT (name) DO UPDATE SET max_jobs = $2, max_bytes = $3, max_running = $4, rate = $5, submit_rate = $6,
        rate_free_at = CASE WHEN queue.rate IS DISTINCT FROM $5 THEN least(queue.rate_free_at, clock_timestamp())
                            ELSE queue.rate_free_at END,
        submit_due_at = CASE WHEN queue.submit_rate IS DISTINCT FROM $6 THEN least(queue.submit_due_at, clock_timestamp())
                             ELSE queue.submit_due_at END
    RETURNING name
), noted AS (
    INSERT INTO windlass.event (noun, subject, type, data)
    SELECT 'queue', name, 'limited', json_build_object('max_jobs', $2::int8, 'max_bytes', $3::int8, 'max_running', $4::int4, 'rate', $5::float8,
                                                         'submit_rate', $6::float8) FROM put
)
SELECT name FROM put
