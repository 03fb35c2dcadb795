-- api_key_first: keep the first admin key; a second caller keeps nothing.
-- params: id uuid, hash bytea     returns: id, or nothing when there is a key already
WITH alone AS MATERIALIZED (SELECT pg_advisory_xact_lock(hashtext('windlass.api_key_first')))
INSERT INTO windlass.api_key (id, name, role, hash)
SELECT $1, 'admin', 'admin', $2 FROM alone WHERE NOT EXISTS (SELECT FROM windlass.api_key)
RETURNING id
