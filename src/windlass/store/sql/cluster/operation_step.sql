-- operation_step: a node enters the next phase of its operation, or says how far it is within one.
-- params: id uuid, node_id uuid, phase text (where it is), next text (the same: it only says how far), progress text (JSON)
-- returns: is_abort_asked; nothing when the operation was ended by others
-- What a phase changes in the node's row is committed with it. A step whose answer was lost may be repeated.
-- Index: operation and node primary keys.
WITH moved AS (
    UPDATE windlass.operation SET phase = $4, progress = $5::json, changed_at = clock_timestamp()
    WHERE id = $1 AND node_id = $2 AND phase IN ($3, $4) AND ended_at IS NULL
    RETURNING node_id, kind, phase, to_workers, is_abort_asked
), told AS (
    UPDATE windlass.node n
    SET workers = CASE m.kind WHEN 'resize' THEN m.to_workers ELSE n.workers END,
        is_paused = CASE m.kind WHEN 'pause' THEN true WHEN 'resume' THEN false ELSE n.is_paused END,
        paused_at = CASE m.kind WHEN 'pause' THEN coalesce(n.paused_at, clock_timestamp()) WHEN 'resume' THEN NULL
                                ELSE n.paused_at END
    FROM moved m
    WHERE n.id = m.node_id
      AND (m.kind, m.phase) IN (('resize', 'applying'), ('pause', 'pausing'), ('resume', 'resuming'))
)
SELECT is_abort_asked FROM moved
