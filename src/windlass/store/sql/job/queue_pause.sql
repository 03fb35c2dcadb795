-- queue_pause: pause or resume a queue.
-- params: name text, is_paused bool     returns: name; nothing when there is no such queue
WITH put AS (
    UPDATE windlass.queue SET paused_at = CASE WHEN NOT $2 THEN NULL WHEN is_paused THEN paused_at ELSE now() END, is_paused = $2
    WHERE name = $1 RETURNING name
), noted AS (
    INSERT INTO windlass.event (noun, subject, type) SELECT 'queue', name, CASE WHEN $2 THEN 'paused' ELSE 'resumed' END FROM put
)
SELECT name FROM put
