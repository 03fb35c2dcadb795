-- user_delete: a user, with its sessions and keys. Under identity_lock, where the last admin was looked for.
-- params: id uuid     returns: id
DELETE FROM windlass.user_account WHERE id = $1 RETURNING id
