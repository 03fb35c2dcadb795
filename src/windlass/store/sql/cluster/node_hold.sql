-- node_hold: take a node's row until the transaction ends: no operation changes its size meanwhile.
-- params: id uuid     returns: id, workers
-- Index: node primary key. The node's own beat waits for it, a few milliseconds.
SELECT id, workers FROM windlass.node WHERE id = $1 FOR NO KEY UPDATE
