-- key_admin_reset: revoke every admin key that Windlass has made itself, and keep this one. Under identity_lock.
-- params: id uuid, hash bytea     returns: id
-- Keys of other names, and those of users, were made by somebody else, for somebody else: they stay.
WITH revoked AS (
    UPDATE windlass.api_key SET revoked_at = clock_timestamp()
    WHERE name = 'admin' AND role = 'admin' AND user_id IS NULL AND hash IS NOT NULL AND revoked_at IS NULL
)
INSERT INTO windlass.api_key (id, name, role, hash) VALUES ($1, 'admin', 'admin', $2) RETURNING id
