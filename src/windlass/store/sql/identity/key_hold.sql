-- key_hold: take a key that was not revoked, so that what is judged of it holds at the write.
-- params: id uuid, user_id uuid (NULL: whoever's it is)     returns: quota, user_id
-- Index: primary key.
SELECT quota, user_id FROM windlass.api_key
WHERE id = $1 AND ($2::uuid IS NULL OR user_id = $2) AND revoked_at IS NULL
FOR NO KEY UPDATE
