-- role_standing: as whom we are logged in, and what that role may do beyond what a node needs.
-- params: none     returns: role, owner (of schema windlass; NULL: there is none yet), is_owner (or a member of it), is_superuser,
-- makes_schemas, makes_roles, may_read (which migrations there are), is_local (by a socket of this machine), database
-- Index: none; the catalogue.
SELECT current_user::text AS role, n.nspowner::regrole::text AS owner, coalesce(pg_has_role(current_user, n.nspowner, 'USAGE'), false) AS is_owner,
       r.rolsuper AS is_superuser, has_database_privilege(current_database(), 'CREATE') AS makes_schemas, r.rolcreaterole AS makes_roles,
       coalesce(has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(
           (SELECT c.oid FROM pg_class c WHERE c.relnamespace = n.oid AND c.relname = 'migration'), 'SELECT'), false) AS may_read,
       inet_server_addr() IS NULL AS is_local, current_database()::text AS database
FROM pg_roles r LEFT JOIN pg_namespace n ON n.nspname = 'windlass'
WHERE r.rolname = current_user
