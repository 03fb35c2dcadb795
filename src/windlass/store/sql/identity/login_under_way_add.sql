-- login_under_way_add: somebody goes to the identity provider to log in.
-- params: state_hash bytea, browser_hash bytea, return_to text, session_id uuid, seconds float8, most int4
-- returns: state_hash; nothing when so many are under way already
-- Two at once may pass the last place together: the bound is for the disk, not for a count. Index: login_under_way_expires_at.
INSERT INTO windlass.login_under_way (state_hash, browser_hash, return_to, session_id, expires_at)
SELECT $1, $2, $3, $4, clock_timestamp() + make_interval(secs => $5)
WHERE (
    SELECT count(*) FROM (
        SELECT FROM windlass.login_under_way WHERE expires_at > (SELECT clock_timestamp()) LIMIT $6::int4
    ) under_way
) < $6
RETURNING state_hash
