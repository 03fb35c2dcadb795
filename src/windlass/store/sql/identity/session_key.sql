-- session_key: what copies of sessions in Redis are signed with.
-- params: none     returns: key
SELECT key FROM windlass.session_key
