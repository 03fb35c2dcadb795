-- user_first: the first user, an admin with a one-time password. Under identity_lock.
-- params: id uuid, name text, password_hash text, good_seconds float8
-- returns: id, or nothing when there is a user already
INSERT INTO windlass.user_account (id, name, role, password_hash, must_change_password, password_until)
SELECT $1, $2, 'admin', $3, true, clock_timestamp() + make_interval(secs => $4)
WHERE NOT EXISTS (SELECT FROM windlass.user_account)
RETURNING id
