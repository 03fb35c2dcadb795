-- secret_forget: forget previous versions whose overlap is over.
-- params: most int4     returns: forgotten int8
-- Index: secret_overlap.
WITH gone AS (
    DELETE FROM windlass.secret WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM windlass.secret WHERE overlap_until <= clock_timestamp() LIMIT $1 FOR UPDATE SKIP LOCKED))
    RETURNING 1)
SELECT count(*) AS forgotten FROM gone
