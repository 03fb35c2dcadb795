-- login_under_way_forget: logins that were begun and never ended.
-- params: limit int4     returns: state_hash of each
-- Index: login_under_way_expires_at.
DELETE FROM windlass.login_under_way WHERE state_hash IN (
    SELECT state_hash FROM windlass.login_under_way WHERE expires_at < clock_timestamp()
    ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED
) RETURNING state_hash
