-- session_add: a session of a user who may come in; beyond so many the oldest end.
-- params: id uuid, user_id uuid, hash bytea, seconds float8, address text, device text, most int4
-- returns: hash of each that ended, is_new false; and the new one, is_new true. No new one: the user may not come in
-- Index: session_of_user.
WITH made AS (
    INSERT INTO windlass.session (id, user_id, hash, expires_at, address, device)
    SELECT $1, u.id, $3, clock_timestamp() + make_interval(secs => $4), $5, $6
    FROM windlass.user_account u WHERE u.id = $2 AND u.disabled_at IS NULL
    RETURNING hash
), ended AS (
    UPDATE windlass.session s SET revoked_at = clock_timestamp()
    FROM (
        SELECT id FROM windlass.session
        WHERE user_id = $2 AND revoked_at IS NULL AND expires_at > clock_timestamp()
        ORDER BY id DESC OFFSET $7 - 1 LIMIT 100
    ) old
    WHERE s.id = old.id
    RETURNING s.hash
)
SELECT hash, true AS is_new FROM made UNION ALL SELECT hash, false FROM ended
