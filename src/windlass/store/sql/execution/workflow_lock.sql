-- workflow_lock: take a workflow's row until the transaction ends, so that versions are counted one at a time.
-- params: name text
-- returns: version, the newest (0: none is published); is_there: it could be read before (neither deleted nor just made)
-- Index: workflow primary key. The row is made when it is new; xmax is 0 in a row that was inserted.
-- Why an upsert: two that publish a new name at once must wait for each other, and a SELECT finds nothing to lock.
-- Why nothing else is read here: whoever had to wait would see the other tables as they were before.
INSERT INTO windlass.workflow (name, version) VALUES ($1, 0)
ON CONFLICT (name) DO UPDATE SET version = workflow.version
RETURNING version, workflow.xmax <> 0 AND deleted_at IS NULL AS is_there
