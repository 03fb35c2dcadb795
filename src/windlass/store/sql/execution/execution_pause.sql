-- execution_pause: pause or resume an execution whose row the caller holds.
-- params: id uuid, is_paused bool, unheard float8 (seconds during which a job may not have heard of it)
-- returns: paused_at; nothing when it was so before
-- Index: primary key. The state follows at the next refresh, as always.
WITH changed AS (
    UPDATE windlass.execution e
    SET paused_at = CASE WHEN $2::bool THEN clock_timestamp() END,
        unheard_until = clock_timestamp() + $3::float8 * interval '1 second'
    WHERE e.id = $1 AND (e.paused_at IS NOT NULL) <> $2::bool
    RETURNING e.id, e.paused_at
), noted AS (
    INSERT INTO windlass.event (noun, subject, type)
    SELECT 'execution', replace(c.id::text, '-', ''), CASE WHEN $2::bool THEN 'paused' ELSE 'resumed' END FROM changed c
)
SELECT paused_at FROM changed
