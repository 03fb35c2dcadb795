-- job_held_under: what a node holds under given claims, whose answers were lost on their way to it.
-- params: node_id uuid, claim_id uuid[]     returns: id, attempt, claim_id
-- Index: job_held.
SELECT id, attempt, claim_id FROM windlass.job WHERE node_id = $1 AND state = 'running' AND claim_id = ANY ($2::uuid[])
