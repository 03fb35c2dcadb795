-- target_put: set a target's limits, and when its breaker opens. Makes the target when it is new.
-- params: host text, rate float8, max_running int4 (NULL: no limit), failures int4, rest float8, rest_max float8 (seconds)
-- returns: host
-- Index: target primary key. What the breaker is doing at the moment stays as it is; target_reset changes that.
WITH put AS (
    INSERT INTO windlass.target AS t (
        host, rate, max_running, breaker_failures, breaker_rest_seconds, breaker_rest_max_seconds)
    VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT (host) DO UPDATE
    SET rate = $2, max_running = $3, breaker_failures = $4, breaker_rest_seconds = $5, breaker_rest_max_seconds = $6,
        changed_at = clock_timestamp()
    RETURNING t.host
), noted AS (
    INSERT INTO windlass.event (noun, subject, type, data)
    SELECT 'target', host, 'put', json_build_object('rate', $2::float8, 'max_running', $3::int4, 'failures', $4::int4,
                                                    'rest', $5::float8, 'rest_max', $6::float8)
    FROM put
)
SELECT host FROM put
