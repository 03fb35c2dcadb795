-- idempotency_correct_many: say again which jobs a key was answered with, in the transaction that recorded it.
-- params: owner text[], key text[], job_ids text[] (comma-separated uuids)     returns: nothing
-- Index: idempotency primary key.
UPDATE windlass.idempotency i
SET job_ids = string_to_array(g.job_ids, ',')::uuid[]
FROM unnest($1::text[], $2::text[], $3::text[]) AS g(owner, key, job_ids)
WHERE i.owner = ANY (ARRAY[g.owner]) AND i.key = ANY (ARRAY[g.key])
