-- idempotency_take_many: record the keys that are free; a key that is taken is not returned.
-- params: owner text[], key text[], body_hash bytea[], job_ids text[] (comma-separated uuids)
-- returns: owner, key of every record made
-- Index: idempotency primary key. Sorted, so that two batches cannot deadlock; a key being taken by somebody else is waited for.
INSERT INTO windlass.idempotency (owner, key, body_hash, job_ids)
SELECT owner, key, body_hash, string_to_array(job_ids, ',')::uuid[]
FROM unnest($1::text[], $2::text[], $3::bytea[], $4::text[]) AS g(owner, key, body_hash, job_ids)
ORDER BY owner, key
ON CONFLICT (owner, key) DO NOTHING
RETURNING owner, key
