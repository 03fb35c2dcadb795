-- role_closed: what must be said so that nobody calls a function with its owner's rights but its owner and who was given that:
-- PostgreSQL gives it to PUBLIC when a function is made, and a restore without rights leaves it so.
-- params: none     returns: said (one statement a row), subject (the function), is_ours bool (we may say it)
-- No row before 0029_role, when these were for whoever might look into the schema. Where PUBLIC may insert jobs it may
-- submit them, too; and who writes all tables anyway (pg_write_all_data) may submit, as if it were a table's right. Index: none; the catalogue.
WITH function AS (
    SELECT p.proname, format('windlass.%I(%s)', p.proname, pg_get_function_identity_arguments(p.oid)) AS name,
           pg_has_role(current_user, p.proowner, 'USAGE') AS is_ours,
           ARRAY(SELECT a.grantee FROM aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a WHERE a.privilege_type = 'EXECUTE') AS callers,
           p.proname = 'enqueue' AND EXISTS (
               SELECT FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) a
               WHERE c.relnamespace = p.pronamespace AND c.relname = 'job' AND a.privilege_type = 'INSERT' AND a.grantee = 0) AS is_everybodys
    FROM pg_proc p WHERE p.pronamespace = (SELECT oid FROM pg_namespace WHERE nspname = 'windlass') AND p.prosecdef
      AND EXISTS (SELECT FROM pg_class c WHERE c.relnamespace = p.pronamespace AND c.relname = 'role_grant')
)
SELECT format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', f.name) AS said, f.name AS subject, f.is_ours
FROM function f WHERE 0::oid = ANY (f.callers) AND NOT f.is_everybodys
UNION ALL
SELECT format('GRANT EXECUTE ON FUNCTION %s TO %I', f.name, r.rolname), f.name, f.is_ours
FROM function f CROSS JOIN pg_roles r
WHERE f.proname = 'enqueue' AND r.rolname = 'pg_write_all_data' AND r.oid <> ALL (f.callers)
ORDER BY said DESC
