-- session_key: what copies of sessions in Redis are signed with.
-- params: none     returns: key, read_at
SELECT key, clock_timestamp() AS read_at FROM windlass.session_key
