-- progress_put_many: note how far jobs say that they are.
-- params: job_id uuid[], attempt int4[], age_seconds float8[], done float8[], total float8[], message text[]     returns: nothing
-- Index: primary keys. The word of an older attempt changes nothing. A job that was forgotten meanwhile gets no row; nobody
-- would remove it.
INSERT INTO windlass.job_progress AS p (job_id, at, done, total, attempt, message)
SELECT s.job_id, clock_timestamp() - s.age_seconds * interval '1 second', s.done, s.total, s.attempt, s.message
FROM unnest($1::uuid[], $2::int4[], $3::float8[], $4::float8[], $5::float8[], $6::text[])
    AS s(job_id, attempt, age_seconds, done, total, message)
WHERE EXISTS (SELECT FROM windlass.job j WHERE j.id = ANY (ARRAY[s.job_id])) OR EXISTS (SELECT FROM windlass.job_history h WHERE h.id = s.job_id)
ON CONFLICT (job_id) DO UPDATE SET at = EXCLUDED.at, done = EXCLUDED.done, total = EXCLUDED.total, attempt = EXCLUDED.attempt,
    message = EXCLUDED.message
WHERE p.attempt <= EXCLUDED.attempt
