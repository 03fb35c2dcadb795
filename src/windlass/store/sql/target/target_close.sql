-- target_close: a probe was answered: close the breaker.
-- params: host text     returns: the row, if it was half open
-- Index: target primary key.
WITH closed AS (
    UPDATE windlass.target t
    SET breaker = 'closed', opens = 0, opened_at = NULL, open_until = NULL, breaker_reason = NULL, changed_at = clock_timestamp()
    WHERE t.host = $1 AND t.breaker = 'half_open'
    RETURNING t.*
), noted AS (
    INSERT INTO windlass.event (noun, subject, type, data) SELECT 'target', host, 'breaker_closed', '{}' FROM closed
)
SELECT *, clock_timestamp() AS now FROM closed
