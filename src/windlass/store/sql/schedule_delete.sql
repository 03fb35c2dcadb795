-- schedule_delete: remove a schedule; its ledger goes with the retention.
-- params: id uuid (NULL: by name), name text     returns: the row
-- Index: the primary key or schedule_name_key.
DELETE FROM windlass.schedule
WHERE ($1::uuid IS NOT NULL AND id = $1) OR ($1::uuid IS NULL AND name = $2)
RETURNING *
