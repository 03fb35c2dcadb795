-- quota_left: what these users and keys have used of their quotas of jobs, to be shown.
-- params: subject uuid[], most int8 (jobs that are looked at)
-- returns: subject, jobs (today), day_ends_at, bytes (waiting; NULL: not counted yet)
-- Indexes: quota_use, quota_job and job primary keys. Exact, and holds nothing; where there are more jobs than `most`, as it was
-- counted last, with what came since.
SELECT u.subject, CASE WHEN u.day >= clock.today THEN u.jobs ELSE 0 END AS jobs,
       (greatest(u.day, clock.today) + 1)::timestamp AT TIME ZONE 'UTC' AS day_ends_at,
       CASE WHEN u.counted_at IS NULL THEN NULL WHEN u.job_rows > $2::int8 THEN u.bytes ELSE (
           SELECT coalesce(sum((SELECT j.input_bytes FROM windlass.job j WHERE j.id = q.job_id)), 0)::int8
           FROM windlass.quota_job q WHERE q.subject = u.subject) END AS bytes
FROM windlass.quota_use u CROSS JOIN (SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date AS today) clock
WHERE u.subject = ANY ($1::uuid[])
