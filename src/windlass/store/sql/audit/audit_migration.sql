-- audit_migration: an entry of the audit log for a migration, in its transaction: by whom the tables were changed.
-- params: id uuid, actor_kind text, actor_name text, name text     returns: nothing
-- Index: the primary key.
INSERT INTO windlass.audit_entry (id, actor_kind, actor_name, action, object_name)
VALUES ($1, $2, left($3::text, 256), 'database.migrate', $4)
