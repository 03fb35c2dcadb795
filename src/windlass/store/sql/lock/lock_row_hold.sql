-- lock_row_hold: take the row of a lock until the transaction ends, so that what is judged of its capacity holds at the write.
-- params: name text     returns: capacity, is_made (as in queue_hold)
-- Index: lock primary key.
INSERT INTO windlass.lock AS l (name) VALUES ($1)
ON CONFLICT (name) DO UPDATE SET name = l.name
RETURNING capacity, l.xmax = 0 AS is_made
