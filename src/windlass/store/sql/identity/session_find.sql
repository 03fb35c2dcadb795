-- session_find: whose session a token belongs to, if it is still good.
-- params: hash bytea, idle_seconds float8
-- returns: id, user_id, name, role, must_change_password, expires_at, read_at, quota
-- Indexes: unique on session.hash; primary key of user_account.
SELECT s.id, s.user_id, u.name, u.role, u.must_change_password, s.expires_at, clock_timestamp() AS read_at, u.quota
FROM windlass.session s JOIN windlass.user_account u ON u.id = s.user_id
WHERE s.hash = $1 AND s.revoked_at IS NULL AND s.expires_at > clock_timestamp()
  AND s.seen_at > clock_timestamp() - make_interval(secs => $2) AND u.disabled_at IS NULL
