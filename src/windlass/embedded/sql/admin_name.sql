-- admin_name: the bootstrap superuser gets the name and the password of the administrator.
-- params: {admin} a name, {verifier} what PostgreSQL keeps of the password; put in as text: DO takes no parameters, and neither
-- holds a quote
-- Nobody can rename whom he is logged in as, so somebody else does it, who lives no longer than this statement. It can be run
-- again at any time. It is run without a server (postgres --single), where the session is the bootstrap superuser's (oid 10).
DO $$
DECLARE
    name text := (SELECT rolname FROM pg_catalog.pg_roles WHERE oid = 10);
BEGIN
    IF name <> '{admin}' THEN
        CREATE ROLE windlass_renames SUPERUSER;
        SET LOCAL SESSION AUTHORIZATION windlass_renames;
        EXECUTE format('ALTER ROLE %I RENAME TO {admin}', name);
        SET LOCAL SESSION AUTHORIZATION {admin};
        DROP ROLE windlass_renames;
    END IF;
    ALTER ROLE {admin} PASSWORD '{verifier}';
END $$;
