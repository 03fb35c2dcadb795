-- secret_under_other: versions that are sealed under another key than this, after a position.
-- params: key_id text, after_name text, after_version int4, most int4
-- returns: name, version, public_key, key_id, nonce, box
-- Index: primary key.
SELECT name, version, public_key, key_id, nonce, box
FROM windlass.secret WHERE key_id <> $1 AND (name, version) > ($2, $3)
ORDER BY name, version LIMIT $4
