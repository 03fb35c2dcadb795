-- partition_list: day partitions of the history that are older than the retention.
-- params: days int4     returns: parent, partition, day, is_thinned (somebody has looked through it today and let go what was
-- not needed); the oldest day first, and of a day the jobs first
SELECT parent.relname AS parent, part.relname AS partition, named.day,
       coalesce(obj_description(part.oid, 'pg_class') = 'thinned ' || today.day, false) AS is_thinned
FROM pg_inherits i
JOIN pg_class parent ON parent.oid = i.inhparent
JOIN pg_class part ON part.oid = i.inhrelid
JOIN pg_namespace n ON n.oid = parent.relnamespace
CROSS JOIN LATERAL (SELECT (now() AT TIME ZONE 'UTC')::date AS day) today
CROSS JOIN LATERAL (SELECT to_date(right(part.relname, 8), 'YYYYMMDD') AS day) named
WHERE n.nspname = 'windlass' AND parent.relname IN ('job_history', 'attempt', 'event', 'job_log')
  AND part.relname ~ '_[0-9]{8}$' AND named.day < today.day - $1::int
ORDER BY named.day, parent.relname <> 'job_history', parent.relname
