-- approval_void: close questions whose step waits no more: it timed out, or was cancelled.
-- params: most int4     returns: voided int8     Index: approval_open.
WITH gone AS (
    UPDATE windlass.approval a SET state = 'void', decided_at = clock_timestamp()
    WHERE a.id = ANY (ARRAY(
        SELECT o.id FROM windlass.approval o
        WHERE o.state = 'open' AND NOT EXISTS (SELECT FROM windlass.job j WHERE j.id = o.job_id OFFSET 0)
        LIMIT $1 FOR UPDATE SKIP LOCKED))
    RETURNING 1)
SELECT count(*) AS voided FROM gone
