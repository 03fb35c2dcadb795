-- fan_results: what the places of a fan-out gave, in order; null for those that failed.
-- params: execution_id uuid, step text, total int4, since timestamptz (when the execution was created)
-- returns: results, JSON text; NULL when it would be longer than $5 bytes
-- Index: job_history_step. Places that never began because the fan-out was stopped are null too.
WITH places AS MATERIALIZED (
    SELECT h.item, CASE h.state WHEN 'succeeded' THEN h.result::text END AS result
    FROM windlass.job_history h
    WHERE h.execution_id = $1 AND h.step = $2 AND h.item IS NOT NULL AND h.finished_at >= $4
)
SELECT CASE WHEN (SELECT coalesce(sum(octet_length(result)), 0) + 5 * $3::int FROM places) <= $5::int8 THEN
    '[' || (SELECT string_agg(coalesce(p.result, 'null'), ',' ORDER BY n)
            FROM generate_series(0, $3::int - 1) AS n LEFT JOIN places p ON p.item = n) || ']' END AS results
