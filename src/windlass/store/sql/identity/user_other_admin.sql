-- user_other_admin: is there an admin beside this one who may come in?
-- params: id uuid     returns: is_any
SELECT EXISTS (
    SELECT FROM windlass.user_account WHERE role = 'admin' AND disabled_at IS NULL AND id <> $1
) AS is_any
