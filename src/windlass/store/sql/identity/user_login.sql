-- user_login: what a login is compared with.
-- params: name text     returns: id, password_hash, is_good; nothing when there is no such user
-- Index: unique on name.
SELECT id, password_hash,
       disabled_at IS NULL AND (password_until IS NULL OR password_until > clock_timestamp()) AS is_good
FROM windlass.user_account WHERE name = $1
