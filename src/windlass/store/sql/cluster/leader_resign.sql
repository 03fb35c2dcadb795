-- leader_resign: end one's own term, so that nobody has to wait for its lease.
-- params: node_id uuid, term int8     returns: term
UPDATE windlass.leader SET lease_until = clock_timestamp()
WHERE node_id = $1 AND term = $2 AND lease_until > clock_timestamp()
RETURNING term
