-- parent_end_insert_many: note that parents have ended and some of their children are yet to be told.
-- params: parent_id uuid[], state text[]     returns: parent_id of every one noted; who has told all its children is not
-- Index: dependency primary key.
INSERT INTO windlass.parent_end (parent_id, state)
SELECT g.id, g.state FROM unnest($1::uuid[], $2::text[]) AS g(id, state)
WHERE EXISTS (SELECT FROM windlass.dependency d WHERE d.parent_id = g.id OFFSET 0)
ON CONFLICT DO NOTHING
RETURNING parent_id
