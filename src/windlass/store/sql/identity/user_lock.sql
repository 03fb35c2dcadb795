-- user_lock: a user who may come in, as he is until the transaction ends: whoever changes him waits, and who counts
-- what he has in the next statement sees all that was made before.
-- params: id uuid     returns: id; nothing when he may not come in
-- Index: primary key.
SELECT id FROM windlass.user_account WHERE id = $1 AND disabled_at IS NULL FOR NO KEY UPDATE
