-- log_list: one page of the lines of a job, in order.
-- params: job_id uuid, attempt int4, place int4 (the line to go on behind), limit int4,
--  after timestamptz (at it or later), before timestamptz (and not at it); NULL: any time
-- returns: attempt, place, at, level, message, fields
-- Index: the primary key, in each day's partition: a job's lines lie in those of its attempts.
SELECT attempt, place, at, level, message, fields
FROM windlass.job_log WHERE job_id = $job_id AND (attempt, place) > ($attempt, $place)
  AND ($after::timestamptz IS NULL OR at >= $after) AND ($before::timestamptz IS NULL OR at < $before)
ORDER BY attempt, place LIMIT $limit
