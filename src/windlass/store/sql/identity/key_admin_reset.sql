-- key_admin_reset: revoke every admin key that Windlass has made itself, and keep this one. Under identity_lock.
-- params: id uuid, hash bytea     returns: id
-- These alone have a hash of their own, also when they were rotated (key_rotate) or got another name; with the key all
-- its tokens end. Other keys were made by somebody else, for somebody else: they stay, whatever they are called.
WITH revoked AS (
    UPDATE windlass.api_key SET revoked_at = clock_timestamp() WHERE hash IS NOT NULL AND revoked_at IS NULL
)
INSERT INTO windlass.api_key (id, name, role, hash) VALUES ($1, 'admin', 'admin', $2) RETURNING id
