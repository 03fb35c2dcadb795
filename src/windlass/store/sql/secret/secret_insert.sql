-- secret_insert: a new current version.
-- params: name text, version int4, kind text, public_key text, key_id text, nonce bytea, box bytea,
--         created_at timestamptz (of the name; NULL: now)
-- returns: name
WITH put AS (
    INSERT INTO windlass.secret (name, version, kind, public_key, key_id, nonce, box, created_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, coalesce($8, clock_timestamp()))
    RETURNING name, version, kind
), noted AS (
    INSERT INTO windlass.event (noun, subject, type, data)
    SELECT 'secret', name, CASE version WHEN 1 THEN 'created' ELSE 'rotated' END, json_build_object('version', version, 'kind', kind)
    FROM put
)
SELECT name FROM put
