-- quota_wait_many: as quota_lock_many, for a caller that stands in nobody's way: waits for those that others hold.
-- params: subject uuid[]
-- returns: subject, is_locked (always), day, jobs, bytes, job_rows, rows_left, counted_seconds, day_left_seconds
-- Index: quota_use primary key. The caller has set a short lock_timeout.
WITH won AS MATERIALIZED (
    SELECT * FROM windlass.quota_use WHERE subject = ANY ($1::uuid[]) ORDER BY subject FOR UPDATE
), clock AS MATERIALIZED (
    SELECT clock_timestamp() AS at, (clock_timestamp() AT TIME ZONE 'UTC')::date AS today FROM (SELECT count(*) FROM won) behind
)
SELECT won.subject, true AS is_locked, greatest(won.day, clock.today) AS day,
       CASE WHEN won.day >= clock.today THEN won.jobs ELSE 0 END AS jobs, won.bytes, won.job_rows, won.rows_left,
       extract(epoch FROM clock.at - won.counted_at)::float8 AS counted_seconds,
       extract(epoch FROM ((greatest(won.day, clock.today) + 1)::timestamp AT TIME ZONE 'UTC') - clock.at)::float8 AS day_left_seconds
FROM won CROSS JOIN clock
