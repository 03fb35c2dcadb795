-- node_members: the nodes that have shards of the executions.
-- params: none     returns: id
-- Index: node_live. As in node_renew: whoever was silent for 0.7 of its lease (limits.SHARD_LEASE_SHARE) has none any more.
SELECT id FROM windlass.node
WHERE state = 'active' AND lease_until - now() > 0.3 * (lease_until - beat_at)
ORDER BY id
