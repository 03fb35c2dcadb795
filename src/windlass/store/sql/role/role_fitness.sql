-- role_fitness: why a role should not have rights of ours and none else: what it can do without them.
-- params: name text     returns: is_superuser, is_owner (of schema windlass, or a member of who is), replicates, makes_roles (before
-- PostgreSQL 16 it makes itself a member of any), takes_part (roles that read or write everything: pg_read_all_data and the like)
-- Index: none; the catalogue. No row: there is no such role.
SELECT r.rolsuper AS is_superuser, r.rolreplication AS replicates, r.rolcreaterole AS makes_roles,
       pg_has_role(r.oid, n.nspowner, 'MEMBER') AS is_owner,
       ARRAY(SELECT g.rolname::text FROM pg_roles g
             WHERE g.rolname IN ('pg_read_all_data', 'pg_write_all_data', 'pg_execute_server_program', 'pg_read_server_files',
                                 'pg_write_server_files', 'pg_maintain')
               AND pg_has_role(r.oid, g.oid, 'MEMBER') ORDER BY g.rolname) AS takes_part
FROM pg_roles r CROSS JOIN pg_namespace n
WHERE r.rolname = $1::text AND n.nspname = 'windlass'
