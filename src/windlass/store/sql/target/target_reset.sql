-- target_reset: close a target's breaker by hand, and forget how often it had opened.
-- params: host text     returns: host; nothing when there is no such target
-- Index: target primary key.
WITH put AS (
    UPDATE windlass.target
    SET breaker = 'closed', opens = 0, opened_at = NULL, open_until = NULL, breaker_reason = NULL, changed_at = clock_timestamp()
    WHERE host = $1 RETURNING host
), noted AS (
    INSERT INTO windlass.event (noun, subject, type) SELECT 'target', host, 'breaker_reset' FROM put
)
SELECT host FROM put
