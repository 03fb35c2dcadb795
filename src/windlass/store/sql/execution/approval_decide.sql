-- approval_decide: write a decision; the caller holds the row.
-- params: id uuid, state text, answer text, comment text, decided_by text     returns: the row
UPDATE windlass.approval SET state = $2, answer = $3::json, comment = $4, decided_by = $5, decided_at = clock_timestamp()
WHERE id = $1 RETURNING *
