-- audit_grant: an entry of the audit log for rights that a role of PostgreSQL is given, in their transaction and before they are noted.
-- params: id uuid, actor_kind text, actor_name text, role text, kind text (NULL: all are taken away), statements int4
-- returns: nothing
-- Index: the primary key, and that of role_grant.
INSERT INTO windlass.audit_entry (id, actor_kind, actor_name, action, object_name, before, after)
VALUES ($1, $2, left($3::text, 256), 'database.grant', left($4::text, 256),
        (SELECT jsonb_build_object('kind', g.kind) FROM windlass.role_grant g WHERE g.name = $4::text),
        jsonb_build_object('kind', $5::text, 'statements', $6::int4))
