-- user_change: another role, or in or out. Under identity_lock, where the last admin was looked for.
-- params: id uuid, role text (NULL: as before), is_disabled bool (NULL: as before)
-- returns: id
UPDATE windlass.user_account
SET role = COALESCE($2, role), changed_at = clock_timestamp(),
    disabled_at = CASE WHEN $3::boolean IS NULL THEN disabled_at WHEN $3 THEN COALESCE(disabled_at, clock_timestamp()) END
WHERE id = $1
RETURNING id
