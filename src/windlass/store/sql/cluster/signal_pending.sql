-- signal_pending: what a node has not acknowledged yet, oldest first.
-- params: node_id uuid, count int4     returns: id, name, payload (text)
-- Index: signal_target primary key; a node has few, and those acknowledged go with their signal.
SELECT signal.id, signal.name, signal.payload::text AS payload
FROM windlass.signal_target AS target JOIN windlass.signal ON signal.id = target.signal_id
WHERE target.node_id = $1 AND target.acked_at IS NULL AND signal.until > now()
ORDER BY signal.id
LIMIT $2
