-- checkpoint_listening: durable functions of an execution that rest until a signal of this name comes.
-- params: execution_id uuid, name text     returns: id of their jobs
-- Index: job_step, checkpoint_listening. The caller holds the execution's row.
SELECT j.id FROM windlass.job j
WHERE j.execution_id = $1 AND j.kind = 'python' AND j.state = 'queued' AND j.run_at > clock_timestamp()
  AND EXISTS (SELECT FROM windlass.checkpoint c WHERE c.job_id = j.id AND c.name = $2 AND c.is_open)
ORDER BY j.id
