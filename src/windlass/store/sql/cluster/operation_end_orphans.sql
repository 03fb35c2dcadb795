-- operation_end_orphans: what nodes that are gone were in the middle of is rolled back: their jobs run elsewhere.
-- params: none     returns: id of each
-- Index: operation_open, node primary key. A row that somebody else is just writing is left for the next look.
WITH ended AS (
    UPDATE windlass.operation o
    SET phase = 'rolled_back', reason = 'its node died, was cut off or left', changed_at = clock_timestamp(),
        ended_at = clock_timestamp()
    WHERE o.id = ANY (ARRAY(
        SELECT p.id FROM windlass.operation p LEFT JOIN windlass.node n ON n.id = p.node_id
        WHERE p.ended_at IS NULL AND (n.id IS NULL OR n.state IN ('left', 'lost') OR n.lease_until <= now())
        FOR UPDATE OF p SKIP LOCKED))
    RETURNING o.id, o.node_id, o.kind, o.reason
), noted AS (
    INSERT INTO windlass.event (noun, subject, type, data)
    SELECT 'node', replace(e.node_id::text, '-', ''), e.kind || '_rolled_back',
           json_build_object('operation_id', 'op_' || replace(e.id::text, '-', ''), 'reason', e.reason)
    FROM ended e
)
SELECT id FROM ended
