-- signal_forget: drop signals that nobody needs any more, with what was said to them.
-- params: most int4     returns: forgotten, how many
-- Index: signal_until, signal_target_signal. One of which somebody holds anything stays for the next round: nobody is waited for
-- (counted as in execution_forget).
WITH old AS MATERIALIZED (
    SELECT id FROM windlass.signal WHERE until < now() ORDER BY until LIMIT $1 FOR UPDATE SKIP LOCKED
), targets AS MATERIALIZED (
    SELECT t.signal_id AS id FROM old JOIN windlass.signal_target t ON t.signal_id = old.id FOR UPDATE OF t SKIP LOCKED
), held AS MATERIALIZED (
    SELECT id FROM (
        SELECT id, -1 AS one FROM targets
        UNION ALL SELECT old.id, 1 FROM old JOIN windlass.signal_target t ON t.signal_id = old.id
    ) belongings
    GROUP BY id HAVING sum(one) > 0
), gone AS (
    DELETE FROM windlass.signal WHERE id = ANY (ARRAY(SELECT id FROM old WHERE id NOT IN (SELECT id FROM held))) RETURNING id
)
SELECT count(*)::int AS forgotten FROM gone
