-- key_lock: a key, as it is until the transaction ends: of two who rotate it at once the second sees the first one's token.
-- params: id uuid, user_id uuid (NULL: whoever's it is)
-- returns: name, quota, user_id; nothing when there is no such key, or it was revoked
-- Index: primary key.
SELECT name, quota, user_id FROM windlass.api_key
WHERE id = $1 AND ($2::uuid IS NULL OR user_id = $2) AND revoked_at IS NULL FOR NO KEY UPDATE
