-- node_set_kinds: say what a node can perform.
-- params: id uuid, kinds text[]     returns: nothing
-- Index: the primary key.
UPDATE windlass.node SET kinds = $2 WHERE id = $1
