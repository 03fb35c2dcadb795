-- node_next_lapse: how long the lease lasts that lapses first, unless it is renewed.
-- params: none     returns: seconds float8 (NULL: nobody has one)
-- Index: node_live, its first entry that has not lapsed.
SELECT extract(epoch FROM min(n.lease_until) - clock_timestamp())::float8 AS seconds
FROM windlass.node n WHERE n.state IN ('active', 'draining') AND n.lease_until > now()
