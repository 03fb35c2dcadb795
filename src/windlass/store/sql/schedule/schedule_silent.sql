-- schedule_silent: how many schedules should have been fired and were not.
-- params: seconds float8 (how long ago)     returns: silent
-- Index: schedule_due, its left end, and schedule_broken; where all is well there is nothing.
SELECT (SELECT count(*) FROM windlass.schedule
        WHERE paused_at IS NULL AND fire_at < now() - $1::float8 * interval '1 second' AND note IS NULL)
     + (SELECT count(*) FROM windlass.schedule WHERE paused_at IS NULL AND note IS NOT NULL) AS silent
