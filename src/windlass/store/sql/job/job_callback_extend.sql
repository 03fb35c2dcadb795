-- job_callback_extend: give a receiver more time from now on.
-- params: id uuid, attempt int4, claim_id uuid, seconds float8
-- returns: callback_until; nothing when nobody waits for that attempt any more
-- Index: job primary key.
UPDATE windlass.job SET callback_until = clock_timestamp() + $4 * interval '1 second'
WHERE id = $1 AND attempt = $2 AND claim_id = $3 AND CASE state WHEN 'running' THEN callback_until IS NOT NULL END
RETURNING callback_until
