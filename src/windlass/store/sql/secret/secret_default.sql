-- secret_default: make a secret that every installation begins with, once; of nodes that start together one does it.
-- params: name text, kind text, public_key text, key_id text, nonce bytea, box bytea (of version 1)
-- returns: name; nothing when it was made before, whatever became of it
WITH first AS (
    INSERT INTO windlass.secret_default (name) VALUES ($1) ON CONFLICT DO NOTHING RETURNING name
), put AS (
    INSERT INTO windlass.secret (name, version, kind, public_key, key_id, nonce, box)
    SELECT name, 1, $2::text, $3::text, $4::text, $5::bytea, $6::bytea FROM first
    ON CONFLICT DO NOTHING
    RETURNING name, version, kind
), noted AS (
    INSERT INTO windlass.event (noun, subject, type, data)
    SELECT 'secret', name, 'created', json_build_object('version', version, 'kind', kind) FROM put
)
SELECT name FROM put
