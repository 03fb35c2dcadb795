-- schedule_pause_many: pause schedules, as a filter has them.
-- params: note text, name text[], prefix text, tags text[], source text, workflow text, queue text (each NULL: does not matter)
-- returns: name of each that was not paused
-- Locks in the order of ids, as a leader's round may be in the middle of them. It pauses what it waits for, not skips it.
WITH chosen AS MATERIALIZED (
    SELECT id FROM windlass.schedule
    WHERE paused_at IS NULL
      AND ($2::text[] IS NULL OR name = ANY ($2::text[]))
      AND ($3::text IS NULL OR starts_with(name, $3))
      AND ($4::text[] IS NULL OR tags @> $4::text[])
      AND ($5::text IS NULL OR source = $5)
      AND ($6::text IS NULL OR workflow ->> 'name' = $6)
      AND ($7::text IS NULL OR (job IS NOT NULL AND coalesce(job ->> 'queue', 'default') = $7))
    ORDER BY id
    FOR UPDATE
)
UPDATE windlass.schedule s
SET paused_at = clock_timestamp(), note = $1
FROM chosen
WHERE s.id = chosen.id
RETURNING s.name
