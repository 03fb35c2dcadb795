-- schedule_fire_alike_many: enter instants in the ledger and move their schedules on; the caller has them locked.
-- params: id uuid[], instant timestamptz[], job_id uuid[], state text[], next_at timestamptz[] (NULL: the rule has no more)
-- returns: nothing; the number of rows is that of instants that were entered. One that was in the ledger is not.
-- Index: schedule primary key; firing primary key, which is what makes an instant fire once.
WITH given AS MATERIALIZED (
    SELECT id, instant, job_id, state, next_at
    FROM unnest($1::uuid[], $2::timestamptz[], $3::uuid[], $4::text[], $5::timestamptz[])
        AS g(id, instant, job_id, state, next_at)
), moved AS (
    UPDATE windlass.schedule s
    SET last_at = g.instant, next_at = g.next_at, fire_at = g.next_at, note = NULL
    FROM given g
    WHERE s.id = g.id
)
INSERT INTO windlass.firing (schedule_id, instant, job_id, state)
SELECT id, instant, job_id, state
FROM given
ON CONFLICT (schedule_id, instant) DO NOTHING
