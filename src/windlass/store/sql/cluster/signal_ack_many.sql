-- signal_ack_many: a node has handled signals; only the first word counts.
-- params: node_id uuid, signal_id uuid[], answer text[] (JSON)     returns: signal_id of each that was new
-- Index: signal_target primary key.
UPDATE windlass.signal_target AS target
SET acked_at = now(), answer = said.answer::json
FROM unnest($2::uuid[], $3::text[]) AS said (signal_id, answer)
WHERE target.node_id = $1 AND target.signal_id = said.signal_id AND target.acked_at IS NULL
RETURNING target.signal_id
