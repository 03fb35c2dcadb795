-- target_gone: the receiver answered 410: it wants nothing more.
-- params: host text, reason text     returns: the row, if it was enabled until now
-- Index: target primary key.
WITH disabled AS (
    INSERT INTO windlass.target AS t (host, is_enabled, disabled_at, gone_at, disabled_reason)
    VALUES ($1, false, now(), now(), $2)
    ON CONFLICT (host) DO UPDATE
    SET is_enabled = false, disabled_at = now(), gone_at = now(), disabled_reason = $2, changed_at = clock_timestamp()
    WHERE t.is_enabled
    RETURNING t.*
), noted AS (
    INSERT INTO windlass.event (noun, subject, type, data)
    SELECT 'target', host, 'disabled', json_build_object('reason', disabled_reason) FROM disabled
)
SELECT *, clock_timestamp() AS now FROM disabled
