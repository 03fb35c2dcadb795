-- key_add: a key and its first token.
-- params: id uuid, hash bytea, name text, role text, rights text[], queues text[], workflows text[], user_id uuid,
--         expires_at timestamptz, expires_seconds float8 (from now on, instead),
--         until timestamptz (it must end by then; NULL: it need not), quota json
-- returns: id; nothing when the expiry is past by the database's clock, or too late
WITH made AS (
    INSERT INTO windlass.api_key (id, name, role, rights, queues, workflows, user_id, expires_at, quota)
    SELECT $1, $3, $4, $5, $6, $7, $8, COALESCE($9, clock_timestamp() + make_interval(secs => $10)), $12::json
    WHERE ($9::timestamptz IS NULL OR $9 > clock_timestamp())
      AND ($11::timestamptz IS NULL OR COALESCE($9, clock_timestamp() + make_interval(secs => $10)) <= $11)
    RETURNING id
)
INSERT INTO windlass.key_token (hash, key_id) SELECT $2, id FROM made RETURNING key_id AS id
