-- idempotency_give_back_many: give keys back whose requests were refused, in the transaction that took them.
-- params: owner text[], key text[], job_id uuid[] (what it was taken with)     returns: nothing
-- Index: idempotency primary key.
DELETE FROM windlass.idempotency i
USING unnest($1::text[], $2::text[], $3::uuid[]) AS g(owner, key, job_id)
WHERE i.owner = g.owner AND i.key = g.key AND i.job_ids = ARRAY[g.job_id]
