-- partition_missing: days to come, today among them, that have no partition.
-- params: days_ahead int4     returns: parent, day (the next one first)
-- Index: none; the catalogue is asked by name.
SELECT table_of.parent, today.day + ahead.n AS day
FROM (SELECT (now() AT TIME ZONE 'UTC')::date AS day) today
CROSS JOIN generate_series(0, $1::int4) AS ahead(n)
CROSS JOIN unnest(ARRAY['job_history', 'attempt', 'event', 'job_log']) AS table_of(parent)
WHERE to_regclass('windlass.' || table_of.parent || '_' || to_char(today.day + ahead.n, 'YYYYMMDD')) IS NULL
ORDER BY ahead.n, table_of.parent
