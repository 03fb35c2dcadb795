-- application_own: what the bootstrap superuser owns in this database becomes the application's.
-- params: {role} a name, put in as text: DO takes no parameters
-- Finds something once: in a database that was made when the application was the superuser. PostgreSQL's own things stay, and
-- those of extensions. What follows its table (indexes, sequences of columns, row types, arrays) is not named here.
DO $$
DECLARE
    one record;
BEGIN
    FOR one IN
        WITH own AS (
            SELECT oid FROM pg_catalog.pg_namespace
            WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'
        )
        SELECT 'SCHEMA' AS kind, format('%I', n.nspname) AS name, n.oid, 'pg_namespace'::regclass AS class
        FROM pg_catalog.pg_namespace n JOIN own USING (oid)
        WHERE n.nspowner = 10 AND n.nspname <> 'public'
        UNION ALL
        SELECT 'TABLE', c.oid::regclass::text, c.oid, 'pg_class'::regclass
        FROM pg_catalog.pg_class c JOIN own ON own.oid = c.relnamespace
        WHERE c.relowner = 10 AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
          AND NOT EXISTS (
              SELECT FROM pg_catalog.pg_depend d
              WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype IN ('a', 'i')
                AND d.refclassid = 'pg_class'::regclass AND c.relkind = 'S'
          )
        UNION ALL
        SELECT 'ROUTINE', p.oid::regprocedure::text, p.oid, 'pg_proc'::regclass
        FROM pg_catalog.pg_proc p JOIN own ON own.oid = p.pronamespace
        WHERE p.proowner = 10
        UNION ALL
        SELECT 'TYPE', t.oid::regtype::text, t.oid, 'pg_type'::regclass
        FROM pg_catalog.pg_type t JOIN own ON own.oid = t.typnamespace
        LEFT JOIN pg_catalog.pg_class row_of ON row_of.oid = t.typrelid
        WHERE t.typowner = 10 AND t.typtype IN ('c', 'd', 'e', 'r') AND coalesce(row_of.relkind = 'c', true)
    LOOP
        CONTINUE WHEN EXISTS (
            SELECT FROM pg_catalog.pg_depend d
            WHERE d.classid = one.class AND d.objid = one.oid AND d.deptype = 'e'
        );
        EXECUTE format('ALTER %s %s OWNER TO {role}', one.kind, one.name);
    END LOOP;
END $$;
