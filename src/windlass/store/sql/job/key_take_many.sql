-- key_take_many: give unique keys to new jobs; a key that is taken is not returned.
-- params: key text[], job_id uuid[], seconds float8[] (how long it is the job's; NULL: while that is kept)     returns: job_id of every key given
-- Index: job_key primary key. Sorted against deadlocks.
INSERT INTO windlass.job_key (key, job_id, until)
SELECT key, job_id, clock_timestamp() + seconds * interval '1 second' FROM unnest($1::text[], $2::uuid[], $3::float8[]) AS g(key, job_id, seconds)
ORDER BY key
ON CONFLICT (key) DO NOTHING
RETURNING job_id
