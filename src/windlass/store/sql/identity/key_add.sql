-- key_add: a key and its first token.
-- params: id uuid, hash bytea, name text, role text, rights text[], queues text[], workflows text[], user_id uuid,
--         expires_at timestamptz, expires_seconds float8 (from now on, instead), quota json
-- returns: id; nothing when the expiry is past by the database's clock
WITH made AS (
    INSERT INTO windlass.api_key (id, name, role, rights, queues, workflows, user_id, expires_at, quota)
    SELECT $1, $3, $4, $5, $6, $7, $8, COALESCE($9, clock_timestamp() + make_interval(secs => $10)), $11::json
    WHERE $9::timestamptz IS NULL OR $9 > clock_timestamp()
    RETURNING id
)
INSERT INTO windlass.key_token (hash, key_id) SELECT $2, id FROM made RETURNING key_id AS id
