-- partition_list: day partitions of the history that are older than the retention.
-- params: days int4     returns: parent, partition (oldest first)
SELECT parent.relname AS parent, part.relname AS partition
FROM pg_inherits i
JOIN pg_class parent ON parent.oid = i.inhparent
JOIN pg_class part ON part.oid = i.inhrelid
JOIN pg_namespace n ON n.oid = parent.relnamespace
WHERE n.nspname = 'windlass' AND parent.relname IN ('job_history', 'attempt', 'event', 'job_log')
  AND part.relname ~ '_[0-9]{8}$'
  AND to_date(right(part.relname, 8), 'YYYYMMDD') < (now() AT TIME ZONE 'UTC')::date - $1::int
ORDER BY part.relname
