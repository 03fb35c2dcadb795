-- api_key_insert: keep another key.
-- params: id uuid, name text, role text, hash bytea     returns: id
INSERT INTO windlass.api_key (id, name, role, hash) VALUES ($1, $2, $3, $4) RETURNING id
