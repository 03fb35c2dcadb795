-- target_disable: deliver nothing more to a target; its jobs are parked.
-- params: host text, reason text (NULL: none was given)     returns: host; nothing when there is no such target
-- Index: target primary key. One that is disabled already keeps since when, and takes the newer reason; one that had
-- answered 410 is disabled by somebody now, and its jobs wait for their word.
WITH put AS (
    UPDATE windlass.target
    SET disabled_at = CASE WHEN is_enabled THEN clock_timestamp() ELSE disabled_at END, is_enabled = false, gone_at = NULL,
        disabled_reason = coalesce($2::text, CASE WHEN NOT is_enabled THEN disabled_reason END), changed_at = clock_timestamp()
    WHERE host = $1 RETURNING host, disabled_reason
), noted AS (
    INSERT INTO windlass.event (noun, subject, type, data)
    SELECT 'target', host, 'disabled', json_build_object('reason', disabled_reason) FROM put
)
SELECT host FROM put
