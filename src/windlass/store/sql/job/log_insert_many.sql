-- log_insert_many: keep lines that tasks logged. Said again, because an answer was lost, nothing is doubled.
-- params: job_id uuid[], begun_at timestamptz[], attempt int4[], place int4[], age_seconds float8[], level text[],
--         message text[], fields text[]     returns: nothing
-- Index: the primary key. An age and not an instant: the database's clock is the one that is shown.
INSERT INTO windlass.job_log (job_id, begun_at, at, attempt, place, level, message, fields)
SELECT l.job_id, l.begun_at, clock_timestamp() - l.age_seconds * interval '1 second', l.attempt, l.place, l.level, l.message,
       l.fields::json
FROM unnest($1::uuid[], $2::timestamptz[], $3::int4[], $4::int4[], $5::float8[], $6::text[], $7::text[], $8::text[])
    AS l(job_id, begun_at, attempt, place, age_seconds, level, message, fields)
ON CONFLICT DO NOTHING
