-- api_key_find: the key with this hash, unless it was revoked.
-- params: hash bytea     returns: id, name, role
-- Index: unique on hash.
SELECT id, name, role FROM windlass.api_key WHERE hash = $1 AND revoked_at IS NULL
