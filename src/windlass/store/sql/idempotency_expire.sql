-- idempotency_expire: forget idempotency records that have served their time.
-- params: kept_seconds float8, most int4     returns: forgotten int8
-- Index: BRIN on created_at.
WITH gone AS (
    DELETE FROM windlass.idempotency WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM windlass.idempotency WHERE created_at < now() - $1 * interval '1 second' LIMIT $2 FOR UPDATE SKIP LOCKED))
    RETURNING 1)
SELECT count(*) AS forgotten FROM gone
