-- schedule_get: one schedule.
-- params: id uuid (NULL: by name), name text     returns: the row
-- Index: the primary key or schedule_name_key.
SELECT * FROM windlass.schedule
WHERE ($1::uuid IS NOT NULL AND id = $1) OR ($1::uuid IS NULL AND name = $2)
