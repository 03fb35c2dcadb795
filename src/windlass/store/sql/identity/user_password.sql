-- user_password: the hash of a user's password, to compare it.
-- params: id uuid     returns: name, password_hash
SELECT name, password_hash FROM windlass.user_account WHERE id = $1 AND disabled_at IS NULL
