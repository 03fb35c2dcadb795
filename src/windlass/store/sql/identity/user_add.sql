-- user_add: a user; one whose name is taken is not made.
-- params: id uuid, name text, role text, password_hash text, is_one_time bool, good_seconds float8
-- returns: id; nothing when the name is taken
INSERT INTO windlass.user_account (id, name, role, password_hash, must_change_password, password_until)
VALUES ($1, $2, $3, $4, $5, CASE WHEN $5 THEN clock_timestamp() + make_interval(secs => $6) END)
ON CONFLICT (name) DO NOTHING
RETURNING id
