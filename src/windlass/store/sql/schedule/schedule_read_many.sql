-- schedule_read_many: what firing needs to know of schedules, which the caller has locked.
-- params: id uuid[]     returns: the rows, in the order of their ids
-- Index: schedule primary key.
SELECT id, name, created_at, next_at, fire_at, last_at, paused_at, resumed_at, pauses, catchup, overlap, misfire, priority, owner,
       rule, job, workflow, alike
FROM windlass.schedule
WHERE id = ANY ($1::uuid[])
ORDER BY fire_at, id
