-- session_forget: sessions that ended by their age a day ago or more.
-- params: limit int4     returns: id of each
-- Index: session_expires_at.
DELETE FROM windlass.session WHERE id IN (
    SELECT id FROM windlass.session WHERE expires_at < clock_timestamp() - interval '1 day'
    ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED
) RETURNING id
