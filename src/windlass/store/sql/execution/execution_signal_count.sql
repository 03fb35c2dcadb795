-- execution_signal_count: how many signals an execution keeps that no step has asked for; counted so far and no further.
-- params: execution_id uuid, most int4     returns: kept int8     Index: execution_signal_waiting.
SELECT count(*) AS kept
FROM (SELECT FROM windlass.execution_signal s WHERE s.execution_id = $1 AND s.taken_by IS NULL LIMIT $2) few
