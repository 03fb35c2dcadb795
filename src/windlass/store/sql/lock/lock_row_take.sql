-- lock_row_take: hold the row of a lock until the transaction ends, unless somebody has it in hand.
-- params: name text     returns: name; nothing where it is not to be had
-- Index: lock primary key. As in lock_hold_many not FOR UPDATE.
SELECT l.name FROM windlass.lock l WHERE l.name = $1 FOR NO KEY UPDATE SKIP LOCKED
