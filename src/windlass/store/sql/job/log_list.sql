-- log_list: one page of the lines of a job, in order.
-- params: job_id uuid, attempt int4, place int4 (the line to go on behind), limit int4     returns: attempt, place, at, level, message, fields
-- Index: the primary key, in each day's partition: a job's lines lie in those of its attempts.
SELECT attempt, place, at, level, message, fields
FROM windlass.job_log WHERE job_id = $1 AND (attempt, place) > ($2, $3)
ORDER BY attempt, place LIMIT $4
