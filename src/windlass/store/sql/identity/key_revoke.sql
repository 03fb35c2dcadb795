-- key_revoke: a key opens nothing from now on.
-- params: id uuid, user_id uuid (NULL: whoever's it is)     returns: id; nothing when there is none to revoke
UPDATE windlass.api_key SET revoked_at = clock_timestamp()
WHERE id = $1 AND ($2::uuid IS NULL OR user_id = $2) AND revoked_at IS NULL
RETURNING id
