-- execution_hold_many: executions, held to the end of the transaction.
-- params: id uuid[]     returns: what their verbs ask for
-- Index: primary key. One order for everybody.
SELECT id, state, workflow, version, finished_at, paused_at, cancel_requested_at, begun_at, doom, created_at,
       concurrency_key, concurrency_limit
FROM windlass.execution WHERE id = ANY ($1::uuid[]) ORDER BY id FOR NO KEY UPDATE
