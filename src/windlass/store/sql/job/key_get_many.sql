-- key_get_many: which jobs have these keys.
-- params: key text[]     returns: key, job_id, is_over (the time for which it was the job's is)
-- Index: job_key primary key.
SELECT key, job_id, coalesce(until <= clock_timestamp(), false) AS is_over FROM windlass.job_key WHERE key = ANY ($1::text[])
