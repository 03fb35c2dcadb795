-- signal_forget: drop signals that nobody needs any more, with what was said to them.
-- params: most int4     returns: forgotten, how many
-- Index: signal_until.
WITH old AS (
    SELECT id FROM windlass.signal WHERE until < now() ORDER BY until LIMIT $1 FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM windlass.signal WHERE id = ANY (ARRAY(SELECT id FROM old)) RETURNING id
)
SELECT count(*)::int AS forgotten FROM gone
