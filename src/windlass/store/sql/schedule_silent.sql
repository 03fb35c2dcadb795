-- schedule_silent: how many schedules should have been fired and were not.
-- params: seconds float8 (how long ago)     returns: silent
-- Index: schedule_due, its left end; where all is well there is nothing.
SELECT count(*) AS silent
FROM windlass.schedule
WHERE paused_at IS NULL AND fire_at < now() - $1::float8 * interval '1 second'
