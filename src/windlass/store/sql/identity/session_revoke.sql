-- session_revoke: end a session.
-- params: id uuid, user_id uuid (NULL: whoever's it is)     returns: hash, user_id,
--         user_name; nothing when there is none to end
UPDATE windlass.session SET revoked_at = clock_timestamp()
WHERE id = $1 AND ($2::uuid IS NULL OR user_id = $2) AND revoked_at IS NULL
RETURNING hash, user_id, (SELECT u.name FROM windlass.user_account u WHERE u.id = user_id) AS user_name
