-- target_enable: deliver to a target again.
-- params: host text     returns: host; nothing when there is no such target
-- Index: target primary key.
WITH put AS (
    UPDATE windlass.target SET is_enabled = true, disabled_at = NULL, disabled_reason = NULL, changed_at = clock_timestamp()
    WHERE host = $1 RETURNING host
), noted AS (
    INSERT INTO windlass.event (noun, subject, type) SELECT 'target', host, 'enabled' FROM put
)
SELECT host FROM put
