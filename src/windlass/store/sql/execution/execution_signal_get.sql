-- execution_signal_get: one signal to an execution.
-- params: id uuid     returns: id, execution_id, name, taken_by, created_at     Index: primary key.
SELECT id, execution_id, name, taken_by, created_at FROM windlass.execution_signal WHERE id = $1
