-- user_logged_in: when a user came in last.
-- params: id uuid     returns: nothing
UPDATE windlass.user_account SET last_login_at = clock_timestamp() WHERE id = $1
