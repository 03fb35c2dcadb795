-- execution_signal_insert: keep a signal to an execution whose row the caller holds.
-- params: id uuid, execution_id uuid, name text, payload text, sent_by text
INSERT INTO windlass.execution_signal (id, execution_id, name, payload, sent_by) VALUES ($1, $2, $3, $4::json, $5)
