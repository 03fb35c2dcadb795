-- parent_end_lock_many: take parents whose children are to be told; those that somebody else has in hand are left to them.
-- params: parent_id uuid[]     returns: parent_id, state
-- Index: primary key.
SELECT parent_id, state FROM windlass.parent_end WHERE parent_id = ANY ($1::uuid[]) FOR UPDATE SKIP LOCKED
