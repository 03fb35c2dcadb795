-- partition_ahead: for how many days after today every table of the history has its partition.
-- params: days_ahead int4 (looks no further)     returns: days int4
-- Index: none; the catalogue is asked by name.
SELECT coalesce(min(ahead.n) - 1, $1::int4) AS days
FROM (SELECT (now() AT TIME ZONE 'UTC')::date AS day) today
CROSS JOIN generate_series(1, $1::int4) AS ahead(n)
CROSS JOIN unnest(ARRAY['job_history', 'attempt', 'event', 'job_log']) AS table_of(parent)
WHERE to_regclass('windlass.' || table_of.parent || '_' || to_char(today.day + ahead.n, 'YYYYMMDD')) IS NULL
