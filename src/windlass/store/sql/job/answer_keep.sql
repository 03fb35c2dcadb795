-- answer_keep: keep the answer to a request that makes no jobs; the first one stays.
-- params: owner text, key text, body_hash bytea, answer bytea     returns: key if it was kept
-- Index: idempotency primary key. The row is there already, unless nobody took the key beforehand.
INSERT INTO windlass.idempotency AS i (owner, key, body_hash, job_ids, answer)
VALUES ($1, $2, $3, '{}', $4)
ON CONFLICT (owner, key) DO UPDATE SET answer = excluded.answer
WHERE i.answer IS NULL AND i.body_hash = excluded.body_hash
RETURNING key
