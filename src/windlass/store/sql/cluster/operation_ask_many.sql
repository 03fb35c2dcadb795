-- operation_ask_many: ask living nodes for a change; a node that is being changed, or is not alive, is left alone.
-- params: id uuid[], node_id uuid[], kind text, parent_id uuid, to_workers int4, drain_seconds float8, on_timeout text,
--         asked_by text
-- returns: the operations that were entered
-- Index: node primary key; operation_open is the arbiter, so of two who ask at once one is refused.
INSERT INTO windlass.operation (id, kind, node_id, parent_id, from_workers, to_workers, drain_seconds, on_timeout, asked_by)
SELECT g.id, $3, n.id, $4, n.workers, $5, $6, $7, $8
FROM unnest($1::uuid[], $2::uuid[]) AS g(id, node_id)
JOIN windlass.node n ON n.id = g.node_id AND n.state = 'active' AND n.lease_until > now()
ON CONFLICT (node_id) WHERE ended_at IS NULL DO NOTHING
RETURNING *
