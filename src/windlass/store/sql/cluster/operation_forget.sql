-- operation_forget: drop operations that ended long ago.
-- params: kept_seconds float8, most int4     returns: id of each
-- Index: operation_ended_at.
DELETE FROM windlass.operation WHERE id = ANY (ARRAY(
    SELECT id FROM windlass.operation WHERE ended_at < now() - $1 * interval '1 second' ORDER BY ended_at LIMIT $2 FOR UPDATE SKIP LOCKED))
RETURNING id
