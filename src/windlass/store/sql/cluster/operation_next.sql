-- operation_next: what is asked of a node.
-- params: node_id uuid     returns: its open operation, or nothing
-- Index: operation_open.
SELECT * FROM windlass.operation WHERE node_id = $1 AND ended_at IS NULL
