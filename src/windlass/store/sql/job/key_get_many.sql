-- key_get_many: which jobs have these keys.
-- params: key text[]     returns: key, job_id
-- Index: job_key primary key.
SELECT key, job_id FROM windlass.job_key WHERE key = ANY ($1::text[])
