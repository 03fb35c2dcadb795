-- schedule_insert: a new schedule.
-- params: id uuid, name text, created_at timestamptz, next_at timestamptz, fire_at timestamptz (NULL: it has no instant),
--         catchup float8, priority int2, overlap text, misfire text, owner text, source text, tags text[], rule text,
--         job text, workflow text, alike uuid
-- returns: the row; nothing when somebody was first to use the name
INSERT INTO windlass.schedule (
    id, name, created_at, changed_at, next_at, fire_at, catchup, priority, overlap, misfire, owner, source, tags,
    rule, job, workflow, alike)
VALUES ($1, $2, $3, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13::text::json, $14::text::json, $15::text::json, $16)
ON CONFLICT (name) DO NOTHING
RETURNING *
