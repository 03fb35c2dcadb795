-- leader_read: who leads now.
-- params: none     returns: one row; node_id, name and elected_at are NULL while nobody leads, lease_until while nobody ever has
SELECT l.term, NULLIF(l.lease_until, '-infinity') AS lease_until, led.node_id, led.elected_at, n.name,
       extract(epoch FROM greatest(l.lease_until, clock_timestamp()) - clock_timestamp())::float8 AS left_seconds
FROM windlass.leader l
LEFT JOIN windlass.leader led ON led.lease_until > clock_timestamp()
LEFT JOIN windlass.node n ON n.id = led.node_id
