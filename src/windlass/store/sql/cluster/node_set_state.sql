-- node_set_state: a node says that it drains or leaves.
-- params: id uuid, state text     returns: id
WITH said AS (
    UPDATE windlass.node SET state = $2, lease_until = CASE $2 WHEN 'left' THEN now() ELSE lease_until END, in_flight = CASE $2 WHEN 'left' THEN 0 ELSE in_flight END
    WHERE id = $1 AND state IN ('active', 'draining') RETURNING id
), noted AS (
    INSERT INTO windlass.event (noun, subject, type) SELECT 'node', replace(id::text, '-', ''), $2 FROM said
)
SELECT id FROM said
