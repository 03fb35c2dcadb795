-- progress_put_many: note how far jobs say that they are.
-- params: job_id uuid[], attempt int4[], age_seconds float8[], done float8[], total float8[], message text[]
-- returns: job_id of those whose row somebody holds: nothing was noted of them
-- Index: primary keys. The word of an older attempt changes nothing. A job that was forgotten meanwhile gets no row; nobody
-- would remove it. A row that is held is left out: all others would wait with it.
WITH free AS MATERIALIZED (
    SELECT p.job_id FROM windlass.job_progress p WHERE p.job_id = ANY ($1::uuid[]) ORDER BY p.job_id FOR NO KEY UPDATE SKIP LOCKED
), held AS MATERIALIZED (
    SELECT p.job_id FROM windlass.job_progress p WHERE p.job_id = ANY ($1::uuid[]) AND p.job_id <> ALL (ARRAY(SELECT job_id FROM free))
), put AS (
    INSERT INTO windlass.job_progress AS p (job_id, at, done, total, attempt, message)
    SELECT s.job_id, clock_timestamp() - s.age_seconds * interval '1 second', s.done, s.total, s.attempt, s.message
    FROM unnest($1::uuid[], $2::int4[], $3::float8[], $4::float8[], $5::float8[], $6::text[])
        AS s(job_id, attempt, age_seconds, done, total, message)
    WHERE s.job_id <> ALL (ARRAY(SELECT job_id FROM held))
      AND (EXISTS (SELECT FROM windlass.job j WHERE j.id = ANY (ARRAY[s.job_id]))
           OR EXISTS (SELECT FROM windlass.job_history h WHERE h.id = s.job_id))
    ON CONFLICT (job_id) DO UPDATE SET at = EXCLUDED.at, done = EXCLUDED.done, total = EXCLUDED.total, attempt = EXCLUDED.attempt,
        message = EXCLUDED.message
    WHERE p.attempt <= EXCLUDED.attempt
)
SELECT job_id FROM held
