-- queue_hold: take a queue's row until the transaction ends, so that what is judged of its limits holds at the write.
-- params: name text     returns: max_jobs, max_bytes, max_running, rate, submit_rate, is_made (it was not there; a rollback undoes it)
-- Index: queue primary key. Why an upsert: of two that make a name at once one must wait, and a SELECT finds nothing to lock.
-- xmax is 0 in a row that was inserted, and ours in one that was updated.
INSERT INTO windlass.queue AS q (name) VALUES ($1)
ON CONFLICT (name) DO UPDATE SET name = q.name
RETURNING max_jobs, max_bytes, max_running, rate, submit_rate, q.xmax = 0 AS is_made
