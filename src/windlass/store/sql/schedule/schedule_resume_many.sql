-- schedule_resume_many: let paused schedules go on, as a filter has them.
-- params: name text[], prefix text, tags text[], source text, workflow text, queue text (each NULL: does not matter)
-- returns: name of each that was paused
-- Their next instant stays: the leader finds what fell due meanwhile, and enters it as skipped because of `pauses`. Of
-- those only the newest ten are kept, and none of which everything was decided. Nodes of before go by resumed_at.
WITH chosen AS MATERIALIZED (
    SELECT id FROM windlass.schedule
    WHERE paused_at IS NOT NULL
      AND ($1::text[] IS NULL OR name = ANY ($1::text[]))
      AND ($2::text IS NULL OR starts_with(name, $2))
      AND ($3::text[] IS NULL OR tags @> $3::text[])
      AND ($4::text IS NULL OR source = $4)
      AND ($5::text IS NULL OR workflow ->> 'name' = $5)
      AND ($6::text IS NULL OR (job IS NOT NULL AND coalesce(job ->> 'queue', 'default') = $6))
    ORDER BY id
    FOR UPDATE
)
UPDATE windlass.schedule s
SET paused_at = NULL, note = NULL, resumed_at = clock_timestamp(),
    pauses = CASE WHEN s.next_at <= s.resumed_at THEN coalesce(s.pauses[greatest(1, cardinality(s.pauses) - 17):], '{}') ELSE '{}' END
             || ARRAY[s.paused_at, clock_timestamp()]
FROM chosen
WHERE s.id = chosen.id
RETURNING s.name
