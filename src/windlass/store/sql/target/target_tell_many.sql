-- target_tell_many: add up what a node saw of targets since it last told.
-- params: host text[], succeeded int8[], failed int8[]     returns: host of each that was told
-- Index: target primary key; in the order of hosts, as everybody locks them. A row that somebody holds is left out: all others
-- would wait with it.
WITH free AS MATERIALIZED (
    SELECT t.host FROM windlass.target t WHERE t.host = ANY ($1::text[]) ORDER BY t.host FOR NO KEY UPDATE SKIP LOCKED
), held AS MATERIALIZED (
    SELECT t.host FROM windlass.target t WHERE t.host = ANY ($1::text[]) AND t.host <> ALL (ARRAY(SELECT host FROM free))
)
INSERT INTO windlass.target AS t (host, succeeded, failed, last_answer_at, last_failure_at)
SELECT s.host, s.succeeded, s.failed,
       CASE WHEN s.succeeded > 0 THEN now() END, CASE WHEN s.failed > 0 THEN now() END
FROM unnest($1::text[], $2::int8[], $3::int8[]) AS s(host, succeeded, failed)
WHERE s.host <> ALL (ARRAY(SELECT host FROM held))
ORDER BY s.host
ON CONFLICT (host) DO UPDATE
SET succeeded = t.succeeded + excluded.succeeded, failed = t.failed + excluded.failed,
    last_answer_at = coalesce(excluded.last_answer_at, t.last_answer_at),
    last_failure_at = coalesce(excluded.last_failure_at, t.last_failure_at)
RETURNING t.host
