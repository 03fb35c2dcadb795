-- user_list: a page of users by name; or one of them, by its id or its name.
-- params: after text, limit int4, id uuid (NULL: all), name text (NULL: all), idle_seconds float8
-- returns: id, name, role, has_password, must_change_password, issuer, created_at, changed_at, last_login_at,
--          disabled_at, quota, sessions
-- Indexes: unique on name, primary key; session_of_user.
SELECT u.id, u.name, u.role, u.password_hash IS NOT NULL AS has_password, u.must_change_password, u.issuer,
       u.created_at, u.changed_at, u.last_login_at, u.disabled_at, u.quota,
       (SELECT count(*) FROM windlass.session s
        WHERE s.user_id = u.id AND s.revoked_at IS NULL AND s.expires_at > clock_timestamp()
          AND s.seen_at > clock_timestamp() - make_interval(secs => $5)) AS sessions
FROM windlass.user_account u
WHERE u.name > $1 AND ($3::uuid IS NULL OR u.id = $3) AND ($4::text IS NULL OR u.name = $4)
ORDER BY u.name LIMIT $2
