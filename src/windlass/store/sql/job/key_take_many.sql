-- key_take_many: give unique keys to new jobs; a key that is taken is not returned.
-- params: key text[], job_id uuid[]     returns: job_id of every key given
-- Index: job_key primary key. Sorted against deadlocks.
INSERT INTO windlass.job_key (key, job_id)
SELECT key, job_id FROM unnest($1::text[], $2::uuid[]) AS g(key, job_id)
ORDER BY key
ON CONFLICT (key) DO NOTHING
RETURNING job_id
