-- key_count: how many keys of a user can be used, or could be before they expired.
-- params: user_id uuid     returns: count
-- Index: api_key_user.
SELECT count(*) FROM windlass.api_key WHERE user_id = $1 AND revoked_at IS NULL
