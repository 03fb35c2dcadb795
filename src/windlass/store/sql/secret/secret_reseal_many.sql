-- secret_reseal_many: put versions under another key; one that was written anew meanwhile is left alone.
-- params: name text[], version int4[], nonce_before bytea[], key_id text, nonce bytea[], box bytea[]
-- returns: name, version of every row changed
-- Index: primary key. A nonce is random and fresh for each sealing, so it tells whether the row is still the same.
UPDATE windlass.secret s SET key_id = $4, nonce = n.nonce, box = n.box
FROM unnest($1::text[], $2::int4[], $3::bytea[], $5::bytea[], $6::bytea[]) AS n (name, version, nonce_before, nonce, box)
WHERE s.name = n.name AND s.version = n.version AND s.nonce = n.nonce_before
RETURNING s.name, s.version
