-- signal_acks: who has acknowledged a signal.
-- params: signal_id uuid     returns: node_id, answer (text)
-- Index: signal_target_signal.
SELECT node_id, answer::text AS answer FROM windlass.signal_target WHERE signal_id = $1 AND acked_at IS NOT NULL
