-- user_set_password: another password; one-time, or to stay.
-- params: id uuid, password_hash text, is_one_time bool, good_seconds float8
-- returns: name; nothing when there is no such user
UPDATE windlass.user_account
SET password_hash = $2, must_change_password = $3, changed_at = clock_timestamp(),
    password_until = CASE WHEN $3 THEN clock_timestamp() + make_interval(secs => $4) END
WHERE id = $1
RETURNING name
