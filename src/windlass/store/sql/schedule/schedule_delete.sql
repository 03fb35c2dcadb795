-- schedule_delete: remove a schedule; its ledger goes with the retention.
-- params: id uuid (NULL: by name), name text     returns: the row
-- Index: the primary key or schedule_name_key.
DELETE FROM windlass.schedule
WHERE id = coalesce($1::uuid, (SELECT n.id FROM windlass.schedule n WHERE n.name = $2))
RETURNING *
