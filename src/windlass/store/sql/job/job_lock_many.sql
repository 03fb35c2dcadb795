-- job_lock_many: lock unfinished jobs in one order for everybody, and say where they are.
-- params: id uuid[]     returns: id, state, node_id, queue, run_at
-- Index: job primary key.
SELECT id, state, node_id, queue, run_at FROM windlass.job WHERE id = ANY ($1::uuid[]) ORDER BY id FOR UPDATE
