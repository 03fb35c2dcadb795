-- operation_get: an operation, or all that belong to a change of the whole cluster.
-- params: id uuid     returns: the rows, oldest first
-- Index: operation primary key and operation_parent.
SELECT * FROM windlass.operation WHERE id = $1 OR parent_id = $1 ORDER BY id
