-- schedule_update: change a schedule that the caller has locked, and whose due instants it has decided.
-- params: id uuid, changed_at timestamptz, next_at timestamptz, fire_at timestamptz, catchup float8, priority int2,
--         overlap text, misfire text, owner text, source text, tags text[], rule text, job text, workflow text,
--         alike uuid
-- returns: the row
-- Index: schedule primary key. The rule it had is kept for whoever looks through its ledger (engine.doctor.ledger).
WITH former AS (
    INSERT INTO windlass.schedule_former (schedule_id, until, since, rule)
    SELECT id, $2::timestamptz, changed_at, rule FROM windlass.schedule WHERE id = $1
    ON CONFLICT DO NOTHING
)
UPDATE windlass.schedule
SET changed_at = $2, next_at = $3, fire_at = $4, catchup = $5, priority = $6, overlap = $7, misfire = $8, owner = $9,
    source = $10, tags = $11, rule = $12::text::json, job = $13::text::json, workflow = $14::text::json, alike = $15,
    note = CASE WHEN paused_at IS NOT NULL THEN note END, edition = edition + 1
WHERE id = $1
RETURNING *
