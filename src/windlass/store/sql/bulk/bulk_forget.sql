-- bulk_forget: drop bulk operations that ended long ago, and what was left of their lists.
-- params: kept_seconds float8, most int4     returns: id of each
-- Index: bulk_ended_at.
DELETE FROM windlass.bulk WHERE id = ANY (ARRAY(
    SELECT id FROM windlass.bulk WHERE ended_at < now() - $1 * interval '1 second' ORDER BY ended_at LIMIT $2 FOR UPDATE SKIP LOCKED))
RETURNING id
