-- execution_tree_get: how many executions were born below a root.
-- params: root_id uuid     returns: born     Index: primary key.
SELECT coalesce(sum(t.born), 0)::int8 AS born FROM windlass.execution_tree t WHERE t.root_id = $1
