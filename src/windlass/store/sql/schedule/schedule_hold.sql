-- schedule_hold: one schedule by id or name, locked until the caller's commit.
-- params: id uuid (NULL: by name), name text     returns: the row
-- Index: the primary key or schedule_name_key. Whoever waits for a leader's round sees what that has decided; the time is
-- asked for afterwards, so that it is later.
SELECT *
FROM windlass.schedule
WHERE id = coalesce($1::uuid, (SELECT n.id FROM windlass.schedule n WHERE n.name = $2))
FOR UPDATE
