-- execution_signal_take: give a kept signal to a step; the caller holds the execution's row.
-- params: execution_id uuid, name text, job_id uuid     returns: id, payload of the oldest that waits, if there is one
-- Index: execution_signal_waiting.
UPDATE windlass.execution_signal s SET taken_by = $3
WHERE s.id = (SELECT w.id FROM windlass.execution_signal w
              WHERE w.execution_id = $1 AND w.name = $2 AND w.taken_by IS NULL ORDER BY w.created_at, w.id LIMIT 1)
RETURNING s.id, s.payload
