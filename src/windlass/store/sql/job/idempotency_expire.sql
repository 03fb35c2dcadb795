-- idempotency_expire: forget idempotency records that have served their time, in some blocks of their table.
-- params: from tid, to tid (not included), kept_seconds float8     returns: forgotten int8
-- Index: none: a range of blocks. The table is gone through once a round, whatever lies where: what is written today fills
-- the room of what was forgotten, so an index by ranges of blocks would soon tell nothing. A record that somebody holds stays
-- for the next round.
WITH old AS MATERIALIZED (
    SELECT i.ctid FROM windlass.idempotency i
    WHERE i.ctid >= $1 AND i.ctid < $2 AND i.created_at < now() - $3::float8 * interval '1 second'
    FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM windlass.idempotency WHERE ctid = ANY (ARRAY(SELECT ctid FROM old)) RETURNING 1
)
SELECT count(*) AS forgotten FROM gone
