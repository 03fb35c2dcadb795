-- parent_end_clear_many: forget parents that have told all their children.
-- params: parent_id uuid[] (held by the caller)     returns: parent_id
-- Index: both primary keys.
DELETE FROM windlass.parent_end e
WHERE e.parent_id = ANY ($1::uuid[]) AND NOT EXISTS (SELECT FROM windlass.dependency d WHERE d.parent_id = e.parent_id OFFSET 0)
RETURNING e.parent_id
