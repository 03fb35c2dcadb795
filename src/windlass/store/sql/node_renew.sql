-- node_renew: prolong a lease that has not lapsed.
-- params: id uuid, lease_seconds float8, in_flight int4     returns: the id, or nothing when the lease is lost for good
-- Index: node primary key.
UPDATE windlass.node
SET beat_at = now(), lease_until = now() + $2 * interval '1 second', in_flight = $3
WHERE id = $1 AND state IN ('active', 'draining') AND lease_until > now()
RETURNING id
