-- user_rehash: the same password, hashed as it is done today.
-- params: id uuid, old_hash text, new_hash text     returns: id; nothing when it was changed meanwhile
UPDATE windlass.user_account SET password_hash = $3 WHERE id = $1 AND password_hash = $2 RETURNING id
