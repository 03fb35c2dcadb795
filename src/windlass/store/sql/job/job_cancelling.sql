-- job_cancelling: what this node must stop.
-- params: node_id uuid     returns: id
-- Index: job_cancelling. What waits for its receiver is not here: who cancels it ends it.
SELECT id FROM windlass.job WHERE node_id = $1 AND state = 'running' AND cancel_requested_at IS NOT NULL AND callback_until IS NULL
