-- fan_results: what the items of a fan-out gave, in order; null for those that failed.
-- params: execution_id uuid, step text, since timestamptz (when the execution was created), bytes_max int8
-- returns: results, JSON text; NULL when it would be longer than that
-- Index: job_history_step, which has them in this order. All items have ended, so each has its row: nothing is joined, since
-- a fan-out may have a hundred thousand of them and no statistics know of it.
SELECT CASE WHEN sum(octet_length(result) + 1) <= $4::int8 THEN '[' || string_agg(result, ',' ORDER BY item) || ']' END AS results
FROM (
    SELECT h.item, CASE WHEN h.state = 'succeeded' AND h.result IS NOT NULL THEN h.result::text ELSE 'null' END AS result
    FROM windlass.job_history h
    WHERE h.execution_id = $1 AND h.step = $2 AND h.item IS NOT NULL AND h.finished_at >= $3
) items
