-- schedule_hold_off: another transaction holds what these schedules need: look at them again after a moment.
-- params: id uuid[], seconds float8, note text, silent_seconds float8     returns: nothing
-- Index: schedule primary key. One that somebody else has in hand, or has fired meanwhile, is left alone. Their instants
-- stay due; what has been due for so long says why, and counts as silent.
UPDATE windlass.schedule s
SET fire_at = clock_timestamp() + $2::float8 * interval '1 second',
    note = CASE WHEN s.next_at < now() - $4::float8 * interval '1 second' THEN left($3::text, 500) ELSE s.note END
FROM (
    SELECT id FROM windlass.schedule
    WHERE id = ANY ($1::uuid[]) AND paused_at IS NULL AND fire_at <= now()
    FOR UPDATE SKIP LOCKED
) held
WHERE s.id = held.id
