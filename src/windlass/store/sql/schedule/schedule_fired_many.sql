-- schedule_fired_many: move schedules on whose instants were decided; the caller has them locked.
-- params: id uuid[], last_at timestamptz[], next_at timestamptz[], fire_at timestamptz[] (NULL: the rule has no more)
-- returns: nothing
-- Index: schedule primary key.
UPDATE windlass.schedule s
SET last_at = g.last_at, next_at = g.next_at, fire_at = g.fire_at,
    note = CASE WHEN s.paused_at IS NOT NULL THEN s.note END
FROM unnest($1::uuid[], $2::timestamptz[], $3::timestamptz[], $4::timestamptz[]) AS g(id, last_at, next_at, fire_at)
WHERE s.id = g.id
