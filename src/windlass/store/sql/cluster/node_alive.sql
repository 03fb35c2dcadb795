-- node_alive: which nodes live, by the database's clock.
-- params: id uuid[] or NULL for all     returns: id
-- Index: node_live.
SELECT id FROM windlass.node
WHERE state IN ('active', 'draining') AND lease_until > now() AND ($1::uuid[] IS NULL OR id = ANY ($1))
ORDER BY id
