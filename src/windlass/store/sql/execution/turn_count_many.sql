-- turn_count_many: how many executions there are with concurrency keys, which the caller holds.
-- params: workflow text[], key text[], most int4[] (counted so far and no further)
-- returns: workflow, key, running, unfinished (those that wait included), oldest uuid (of those that run; NULL: none does)
-- Index: execution_running, execution_waiting.
SELECT g.workflow, g.key, running.count AS running, running.count + waiting.count AS unfinished, first.id AS oldest
FROM unnest($1::text[], $2::text[], $3::int4[]) AS g(workflow, key, most)
CROSS JOIN LATERAL (
    SELECT count(*) AS count FROM (
        SELECT FROM windlass.execution e
        WHERE e.workflow = g.workflow AND e.concurrency_key = g.key AND e.begun_at IS NOT NULL AND e.finished_at IS NULL
        LIMIT g.most) few
) running
CROSS JOIN LATERAL (
    SELECT count(*) AS count FROM (
        SELECT FROM windlass.execution e
        WHERE e.workflow = g.workflow AND e.concurrency_key = g.key AND e.begun_at IS NULL AND e.finished_at IS NULL
        LIMIT g.most) few
) waiting
LEFT JOIN LATERAL (
    SELECT e.id FROM windlass.execution e
    WHERE e.workflow = g.workflow AND e.concurrency_key = g.key AND e.begun_at IS NOT NULL AND e.finished_at IS NULL
    ORDER BY e.created_at, e.id LIMIT 1
) first ON true
