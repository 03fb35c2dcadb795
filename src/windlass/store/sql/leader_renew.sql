-- leader_renew: prolong a term that has not lapsed.
-- params: node_id uuid, term int8, lease_seconds float8     returns: term, or nothing when it is over for good
UPDATE windlass.leader SET lease_until = clock_timestamp() + $3 * interval '1 second'
WHERE node_id = $1 AND term = $2 AND lease_until > clock_timestamp()
RETURNING term
