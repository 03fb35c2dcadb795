-- lock_forget_many: forget locks, except those that somebody holds or waits for.
-- params: name text[] (their rows are held, see lock_idle)     returns: name
-- Index: lock primary key; the primary keys of lock_hold and lock_wait. By a newer snapshot than that which found them idle.
DELETE FROM windlass.lock l
WHERE l.name = ANY ($1::text[]) AND NOT EXISTS (SELECT FROM windlass.lock_hold h WHERE h.lock = l.name)
  AND NOT EXISTS (SELECT FROM windlass.lock_wait w WHERE w.lock = l.name)
RETURNING l.name
