-- quota_lock_many: what these users and keys have used of their quotas, locked in one order for everybody, waiting for none.
-- params: subject uuid[]
-- returns: subject, is_locked (false: another transaction holds it), day, jobs (of that day), bytes, job_rows, rows_left,
--          counted_seconds (how long ago; NULL: never), day_left_seconds (until its day ends in UTC)
-- Index: quota_use primary key. Held until the caller's commit. A day that has begun starts from nothing; where the clock went
-- back over midnight, the later day goes on.
WITH won AS MATERIALIZED (
    SELECT * FROM windlass.quota_use WHERE subject = ANY ($1::uuid[]) ORDER BY subject FOR UPDATE SKIP LOCKED
), clock AS MATERIALIZED (
    SELECT clock_timestamp() AS at, (clock_timestamp() AT TIME ZONE 'UTC')::date AS today
)
SELECT u.subject, won.subject IS NOT NULL AS is_locked, greatest(won.day, clock.today) AS day,
       CASE WHEN won.day >= clock.today THEN won.jobs ELSE 0 END AS jobs, won.bytes, won.job_rows, won.rows_left,
       extract(epoch FROM clock.at - won.counted_at)::float8 AS counted_seconds,
       extract(epoch FROM ((greatest(won.day, clock.today) + 1)::timestamp AT TIME ZONE 'UTC') - clock.at)::float8 AS day_left_seconds
FROM windlass.quota_use u LEFT JOIN won ON won.subject = u.subject CROSS JOIN clock
WHERE u.subject = ANY ($1::uuid[])
