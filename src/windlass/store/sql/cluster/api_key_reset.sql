-- api_key_reset: revoke every admin key that Windlass has made itself, and keep this one.
-- params: id uuid, hash bytea     returns: id
-- Keys of other names were made by somebody else, for somebody else: they stay.
-- Under the lock of api_key_first: a first start meanwhile makes no second admin key.
WITH alone AS MATERIALIZED (SELECT pg_advisory_xact_lock(hashtext('windlass.api_key_first'))),
revoked AS (
    UPDATE windlass.api_key SET revoked_at = now()
    FROM alone
    WHERE name = 'admin' AND role = 'admin' AND revoked_at IS NULL
    RETURNING api_key.id
)
INSERT INTO windlass.api_key (id, name, role, hash)
SELECT $1, 'admin', 'admin', $2 FROM alone
RETURNING id
