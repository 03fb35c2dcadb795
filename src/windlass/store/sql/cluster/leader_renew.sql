-- leader_renew: prolong a term that has not lapsed.
-- params: node_id uuid, term int8, lease_seconds float8
-- returns: term and is_held, or nothing when it is over for good
-- is_held: somebody else holds the row, so nothing was prolonged; nobody can have begun another term either. The renewal does
-- not wait for the row: a leader that holds the seat goes on without (runtime/cluster/leadership.py).
WITH free AS MATERIALIZED (
    SELECT term, lease_until FROM windlass.leader WHERE node_id = $1 AND term = $2 FOR NO KEY UPDATE SKIP LOCKED
), renewed AS (
    UPDATE windlass.leader SET lease_until = clock_timestamp() + $3 * interval '1 second'
    WHERE EXISTS (SELECT FROM free WHERE free.lease_until > clock_timestamp())
    RETURNING term
)
SELECT term, false AS is_held FROM renewed
UNION ALL
SELECT term, true FROM windlass.leader WHERE node_id = $1 AND term = $2 AND NOT EXISTS (SELECT FROM free)
