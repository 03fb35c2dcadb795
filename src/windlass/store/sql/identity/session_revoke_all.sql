-- session_revoke_all: end the sessions of a user, perhaps but one.
-- params: user_id uuid, but uuid (NULL: all of them)     returns: hash of each that ended, user_name
-- Index: session_of_user.
UPDATE windlass.session SET revoked_at = clock_timestamp()
WHERE user_id = $1 AND revoked_at IS NULL AND ($2::uuid IS NULL OR id <> $2)
RETURNING hash, (SELECT u.name FROM windlass.user_account u WHERE u.id = $1) AS user_name
