-- node_set_paused: a node that was paused under an older id says so under its new one.
-- params: id uuid     returns: nothing
UPDATE windlass.node SET is_paused = true, paused_at = clock_timestamp() WHERE id = $1
