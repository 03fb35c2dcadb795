-- schedule_next: in how many seconds the next schedule is due.
-- params: none     returns: seconds; no row when nothing is scheduled
-- Index: schedule_due, its first entry.
SELECT extract(epoch FROM fire_at - clock_timestamp())::float8 AS seconds
FROM windlass.schedule
WHERE paused_at IS NULL AND fire_at IS NOT NULL
ORDER BY fire_at
LIMIT 1
