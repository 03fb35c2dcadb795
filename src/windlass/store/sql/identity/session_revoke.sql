-- session_revoke: end a session.
-- params: id uuid, user_id uuid (NULL: whoever's it is)     returns: hash; nothing when there is none to end
UPDATE windlass.session SET revoked_at = clock_timestamp()
WHERE id = $1 AND ($2::uuid IS NULL OR user_id = $2) AND revoked_at IS NULL
RETURNING hash
