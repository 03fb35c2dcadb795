-- turn_next_many: the executions whose turn it is, of keys that the caller holds: the oldest that wait, as many as there is room.
-- params: workflow text[], key text[], most int4 of one key     returns: id
-- Index: execution_waiting, execution_running. The limit is that of the oldest. Who is being cancelled just now is waited
-- for, and passed over if it was.
SELECT next.id
FROM unnest($1::text[], $2::text[]) AS g(workflow, key)
CROSS JOIN LATERAL (
    SELECT e.concurrency_limit AS most FROM windlass.execution e
    WHERE e.workflow = g.workflow AND e.concurrency_key = g.key AND e.begun_at IS NULL AND e.finished_at IS NULL
    ORDER BY e.created_at, e.id LIMIT 1
) oldest
CROSS JOIN LATERAL (
    SELECT oldest.most - count(*) AS free FROM (
        SELECT FROM windlass.execution e
        WHERE e.workflow = g.workflow AND e.concurrency_key = g.key AND e.begun_at IS NOT NULL AND e.finished_at IS NULL
        LIMIT oldest.most) few
) room
CROSS JOIN LATERAL (
    SELECT e.id FROM windlass.execution e
    WHERE e.workflow = g.workflow AND e.concurrency_key = g.key AND e.begun_at IS NULL AND e.finished_at IS NULL
    ORDER BY e.created_at, e.id LIMIT least(room.free, $3::int4)
    FOR NO KEY UPDATE
) next
