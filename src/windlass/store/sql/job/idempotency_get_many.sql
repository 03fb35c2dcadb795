-- idempotency_get_many: what was answered before under these keys.
-- params: owner text[], key text[]     returns: owner, key, body_hash, job_ids
-- Index: idempotency primary key.
SELECT i.owner, i.key, i.body_hash, i.job_ids
FROM unnest($1::text[], $2::text[]) AS g(owner, key)
JOIN windlass.idempotency i ON i.owner = ANY (ARRAY[g.owner]) AND i.key = ANY (ARRAY[g.key])
