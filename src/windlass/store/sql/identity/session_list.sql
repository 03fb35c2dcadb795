-- session_list: a page of the sessions that are good, the newest first.
-- params: before uuid, limit int4, user_id uuid (NULL: everybody's), idle_seconds float8
-- returns: id, user_id, user_name, created_at, seen_at, expires_at, address, device
-- Indexes: session_of_user, primary key.
SELECT s.id, s.user_id, u.name AS user_name, s.created_at, s.seen_at, s.expires_at, s.address, s.device
FROM windlass.session s JOIN windlass.user_account u ON u.id = s.user_id
WHERE s.id < $1 AND ($3::uuid IS NULL OR s.user_id = $3) AND s.revoked_at IS NULL
  AND s.expires_at > clock_timestamp() AND s.seen_at > clock_timestamp() - make_interval(secs => $4)
ORDER BY s.id DESC LIMIT $2
