-- execution_tree_add: count an execution that is born below a root.
-- params: root_id uuid, slot int2     returns: born, all slots together and this one included
-- Index: primary key. Births in flight elsewhere are not in the sum: a bound may be passed by as many as commit at that moment.
WITH added AS (
    INSERT INTO windlass.execution_tree AS t (root_id, slot, born)
    SELECT e.id, $2, 1 FROM windlass.execution e WHERE e.id = $1 -- it may be gone with the retention
    ON CONFLICT (root_id, slot) DO UPDATE SET born = t.born + 1
)
SELECT coalesce(sum(t.born), 0)::int8 + 1 AS born FROM windlass.execution_tree t WHERE t.root_id = $1
