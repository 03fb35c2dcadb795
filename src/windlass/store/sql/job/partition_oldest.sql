-- partition_oldest: the first day of which attempts and events are kept.
-- params: none     returns: day (NULL: nothing was ever dropped or made)
SELECT min(to_date(right(part.relname, 8), 'YYYYMMDD'))::timestamp AT TIME ZONE 'UTC' AS day
FROM pg_inherits i
JOIN pg_class parent ON parent.oid = i.inhparent
JOIN pg_class part ON part.oid = i.inhrelid
JOIN pg_namespace n ON n.oid = parent.relnamespace
WHERE n.nspname = 'windlass' AND parent.relname IN ('attempt', 'event') AND part.relname ~ '_[0-9]{8}$'
