-- schedule_list: schedules by name, as a filter has them.
-- params: after text, most int4, name text[], prefix text, tags text[] (all of them), source text, is_paused bool,
--         workflow text, queue text (each NULL: does not matter)
-- returns: the rows
-- Index: schedule_name_key, from `after` on.
SELECT * FROM windlass.schedule
WHERE name > $1
  AND ($3::text[] IS NULL OR name = ANY ($3::text[]))
  AND ($4::text IS NULL OR starts_with(name, $4))
  AND ($5::text[] IS NULL OR tags @> $5::text[])
  AND ($6::text IS NULL OR source = $6)
  AND ($7::bool IS NULL OR (paused_at IS NOT NULL) = $7)
  AND ($8::text IS NULL OR workflow ->> 'name' = $8)
  AND ($9::text IS NULL OR (job IS NOT NULL AND coalesce(job ->> 'queue', 'default') = $9))
ORDER BY name
LIMIT $2
