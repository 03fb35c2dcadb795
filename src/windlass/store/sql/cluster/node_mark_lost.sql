-- node_mark_lost: nodes whose lease has lapsed are lost; their own renewals fail from now on.
-- params: none     returns: id, name of each
-- Index: node_live. A row that somebody else holds is left for the next look.
WITH lost AS (
    UPDATE windlass.node SET state = 'lost', in_flight = 0
    WHERE id = ANY (ARRAY(
        SELECT id FROM windlass.node WHERE state IN ('active', 'draining') AND lease_until <= now() FOR UPDATE SKIP LOCKED))
    RETURNING id, name
), noted AS (
    INSERT INTO windlass.event (noun, subject, type) SELECT 'node', replace(id::text, '-', ''), 'lost' FROM lost
)
SELECT id, name FROM lost
