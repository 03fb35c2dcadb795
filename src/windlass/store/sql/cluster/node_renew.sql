-- node_renew: prolong a lease that has not lapsed, and say what the node uses.
-- params: id uuid, lease_seconds float8, in_flight int4, memory_bytes int8, cpu_percent float8
-- returns: id, has_signal (one waits here for this node), leader_term and is_led (does anybody lead?), members (as node_members:
-- who has shards), or nothing when the lease is lost for good
-- Index: node and signal_target primary keys, node_live. windlass.leader is a single row; asked in passing, all this costs no
-- round trip.
UPDATE windlass.node
SET beat_at = now(), lease_until = now() + $2 * interval '1 second', in_flight = $3,
    memory_bytes = $4, cpu_percent = $5
WHERE id = $1 AND state IN ('active', 'draining') AND lease_until > now()
RETURNING id, EXISTS (SELECT FROM windlass.signal_target t WHERE t.node_id = $1 AND t.acked_at IS NULL) AS has_signal,
          (SELECT l.term FROM windlass.leader l) AS leader_term,
          EXISTS (SELECT FROM windlass.leader l WHERE l.lease_until > clock_timestamp()) AS is_led,
          ARRAY(SELECT n.id FROM windlass.node n
                WHERE n.state = 'active' AND n.lease_until - now() > 0.3 * (n.lease_until - n.beat_at)) AS members
