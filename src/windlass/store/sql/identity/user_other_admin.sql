-- user_other_admin: is there an admin beside this one who may come in?
-- params: id uuid     returns: is_any
-- Whose one-time password is used up or too old cannot log in; an identity provider asks for none. Under identity_lock.
SELECT EXISTS (
    SELECT FROM windlass.user_account
    WHERE role = 'admin' AND disabled_at IS NULL AND id <> $1
      AND (issuer IS NOT NULL OR password_until IS NULL OR password_until > clock_timestamp())
) AS is_any
