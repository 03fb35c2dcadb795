-- secret_live: the versions of a name that are good now, newest first.
-- params: name text     returns: version, public_key, key_id, nonce, box
-- Index: primary key.
SELECT version, public_key, key_id, nonce, box
FROM windlass.secret WHERE name = $1 AND (overlap_until IS NULL OR overlap_until > clock_timestamp())
ORDER BY version DESC
