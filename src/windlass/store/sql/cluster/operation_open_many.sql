-- operation_open_many: the operations that these nodes are in the middle of.
-- params: node_id uuid[]     returns: the rows
-- Index: operation_open.
SELECT * FROM windlass.operation WHERE node_id = ANY ($1::uuid[]) AND ended_at IS NULL
