-- idempotency_give_back_many: give keys back whose requests were refused, in the transaction that took them.
-- params: owner text[], key text[], job_id uuid[] (what it was taken with)     returns: nothing
-- Index: idempotency primary key, entered by one key after the other. Nobody else has touched the rows: they are ours.
DELETE FROM windlass.idempotency
WHERE ctid = ANY (ARRAY(
    SELECT found.ctid
    FROM unnest($1::text[], $2::text[], $3::uuid[]) AS g(owner, key, job_id)
    CROSS JOIN LATERAL (
        SELECT i.ctid FROM windlass.idempotency i
        WHERE i.owner = g.owner AND i.key = g.key AND i.job_ids = ARRAY[g.job_id] OFFSET 0
    ) found
))
