-- user_password_used: a user has come in with this password; a one-time one is good for no other time.
-- params: id uuid, password_hash text (with which it was compared)
-- returns: id; nothing when it is not the password any more, or was used up meanwhile
-- Index: primary key.
UPDATE windlass.user_account
SET last_login_at = clock_timestamp(),
    password_until = CASE WHEN must_change_password THEN clock_timestamp() ELSE password_until END
WHERE id = $1 AND password_hash = $2 AND (password_until IS NULL OR password_until > clock_timestamp())
RETURNING id
