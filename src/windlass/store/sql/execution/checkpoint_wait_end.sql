-- checkpoint_wait_end: a wait of a durable function is over, by a signal or by time; the caller holds the execution's row.
-- params: job_id uuid, branch text, place int4, result text (NULL: nothing came in time)     returns: one row if it was open
-- Index: checkpoint primary key.
UPDATE windlass.checkpoint c SET is_open = false, result = $4::json, at = clock_timestamp()
WHERE c.job_id = $1 AND c.branch = $2 AND c.place = $3 AND c.is_open
RETURNING c.job_id
