-- secret_current: the current version of a name, sealed.
-- params: name text     returns: version, public_key, created_at, key_id, nonce, box; nothing when there is none
-- Index: secret_current.
SELECT version, public_key, created_at, key_id, nonce, box
FROM windlass.secret WHERE name = $1 AND overlap_until IS NULL
