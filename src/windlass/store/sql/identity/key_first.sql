-- key_first: keep the first admin key. Under identity_lock.
-- params: id uuid, hash bytea     returns: id, or nothing when there is a key already
INSERT INTO windlass.api_key (id, name, role, hash)
SELECT $1, 'admin', 'admin', $2 WHERE NOT EXISTS (SELECT FROM windlass.api_key)
RETURNING id
