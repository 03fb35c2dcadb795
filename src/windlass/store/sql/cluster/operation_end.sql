-- operation_end: a node has done what was asked, or has gone back to how it was.
-- params: id uuid, node_id uuid, phase text (done, rolled_back), progress text (JSON), reason text (NULL: it is done)
-- returns: id; nothing when the operation has been ended before
-- Index: operation and node primary keys.
WITH ended AS (
    UPDATE windlass.operation
    SET phase = $3, progress = $4::json, reason = $5, changed_at = clock_timestamp(), ended_at = clock_timestamp()
    WHERE id = $1 AND node_id = $2 AND ended_at IS NULL
    RETURNING *
), restored AS (
    UPDATE windlass.node n SET workers = e.from_workers
    FROM ended e WHERE n.id = e.node_id AND e.kind = 'resize' AND e.phase = 'rolled_back'
), noted AS (
    INSERT INTO windlass.event (noun, subject, type, data)
    SELECT 'node', replace(e.node_id::text, '-', ''),
           CASE WHEN e.phase = 'rolled_back' THEN e.kind || '_rolled_back'
                ELSE CASE e.kind WHEN 'resize' THEN 'resized' WHEN 'pause' THEN 'paused' WHEN 'resume' THEN 'resumed'
                                 ELSE 'drained' END END,
           json_strip_nulls(json_build_object('operation_id', 'op_' || replace(e.id::text, '-', ''),
               'from_workers', CASE e.kind WHEN 'resize' THEN e.from_workers END, 'to_workers', e.to_workers, 'reason', e.reason))
    FROM ended e
)
SELECT id FROM ended
