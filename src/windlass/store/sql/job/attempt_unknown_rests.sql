-- attempt_unknown_rests: how often in a row a job rested, up to now, because no node that took it had its task.
-- params: job_id uuid, attempt int4 (the one under way), most int4 (further back nobody looks)     returns: rests int8
-- Index: primary key of each day's partition. Other rests (of a durable function, of a task that asked for one) end the row.
SELECT count(*) AS rests
FROM (
    SELECT bool_and(a.outcome = 'snoozed' AND a.detail ->> 'unknown_task' IS NOT NULL)
               OVER (ORDER BY a.attempt DESC, a.ended_at DESC) AS is_in_row
    FROM windlass.attempt a
    WHERE a.job_id = $1 AND a.attempt < $2 AND a.attempt >= $2 - $3
) looked
WHERE is_in_row
