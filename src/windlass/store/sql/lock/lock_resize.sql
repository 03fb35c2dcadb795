-- lock_resize: set how many may hold a lock at once. Makes the lock when it is new.
-- params: name text, capacity int4     returns: name
-- Index: lock primary key. The caller passes the lock on: there may be more capacity than before. If there is less, whoever holds
-- it keeps it.
INSERT INTO windlass.lock (name, capacity) VALUES ($1, $2)
ON CONFLICT (name) DO UPDATE SET capacity = $2, changed_at = clock_timestamp()
RETURNING name
