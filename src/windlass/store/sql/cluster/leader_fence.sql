-- leader_fence: is this still the term, by the database's clock?
-- params: node_id uuid, term int8     returns: term, or nothing when it is over
SELECT term FROM windlass.leader WHERE node_id = $1 AND term = $2 AND lease_until > clock_timestamp()
