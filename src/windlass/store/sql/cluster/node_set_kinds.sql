-- node_set_kinds: say what a node can perform.
-- params: id uuid, kinds text[], tasks text[] (of `python`)     returns: nothing
-- Index: the primary key.
UPDATE windlass.node SET kinds = $2, tasks = $3 WHERE id = $1
