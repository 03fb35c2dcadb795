-- schedule_put_off: schedules that cannot be fired as they are: say why, and try again later; the caller has them locked.
-- params: id uuid[], note text[], seconds float8     returns: nothing
-- Index: schedule primary key. Left as they are they would stand in front of all others, round after round. Their next
-- instant stays: when they can be fired again, what was missed is decided. Until then they count as silent.
UPDATE windlass.schedule s
SET fire_at = clock_timestamp() + $3::float8 * interval '1 second', note = g.note
FROM unnest($1::uuid[], $2::text[]) AS g(id, note)
WHERE s.id = g.id
