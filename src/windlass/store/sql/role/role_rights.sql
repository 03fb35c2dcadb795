-- role_rights: what must be said to give a role the rights of its kind and no others: GRANT what it lacks, REVOKE what is too much.
-- params: name text, kind text (`node`, `submitter`; NULL: it is to have none)     returns: said (one statement a row, in order), is_grant bool
-- A node owns nothing. It reads everything; the log of audits and published versions it writes and does not change; the history
-- it writes and forgets; what only the owner writes it reads. A right that comes by way of PUBLIC or another role is not given
-- again, unless it is to a function with its owner's rights: PUBLIC is not to have those (role_closed). A day
-- of the history has the rights of its table (windlass.make_partition gives them later). Tables that a later
-- release brings are named by rule. Index: none; the catalogue.
WITH role AS (SELECT oid, rolname AS name FROM pg_roles WHERE rolname = $1::text),
tables AS (
    SELECT c.oid, c.relname AS name, c.relacl AS acl, c.relowner AS owner, c.relkind,
           coalesce((SELECT root.relname FROM pg_class root WHERE root.oid = pg_partition_root(c.oid)), c.relname) AS noun
    FROM pg_class c WHERE c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = 'windlass') AND c.relkind IN ('r', 'p', 'v', 'S')
),
objects AS (
    SELECT 1 AS place, 'SCHEMA' AS what, n.oid, quote_ident(n.nspname) AS name, n.nspacl AS acl, n.nspowner AS owner,
           CASE WHEN $2::text IS NOT NULL THEN '{USAGE}' ELSE '{}' END::text[] AS rights, false AS is_definers
    FROM pg_namespace n WHERE n.nspname = 'windlass'
    UNION ALL
    SELECT 2, CASE t.relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, t.oid, format('windlass.%I', t.name), t.acl, t.owner,
           CASE WHEN $2::text IS DISTINCT FROM 'node' THEN '{}'
                WHEN t.relkind = 'S' THEN '{SELECT,USAGE}'
                WHEN t.relkind = 'v' OR t.noun IN ('migration', 'role_grant', 'session_key', 'enqueue_note') THEN '{SELECT}'
                WHEN t.noun LIKE 'audit\_%' OR t.noun = 'workflow_version' THEN '{SELECT,INSERT}'
                WHEN t.noun = 'leader' THEN '{SELECT,UPDATE}'
                WHEN t.noun IN ('attempt', 'event', 'job_log') THEN '{SELECT,INSERT,DELETE}'
                ELSE '{SELECT,INSERT,UPDATE,DELETE}' END::text[], false
    FROM tables t
    UNION ALL
    SELECT 3, 'FUNCTION', p.oid, format('windlass.%I(%s)', p.proname, pg_get_function_identity_arguments(p.oid)), p.proacl, p.proowner,
           CASE WHEN $2::text = 'node' OR ($2::text = 'submitter' AND p.proname = 'enqueue') THEN '{EXECUTE}' ELSE '{}' END::text[], p.prosecdef
    FROM pg_proc p WHERE p.pronamespace = (SELECT oid FROM pg_namespace WHERE nspname = 'windlass') AND p.prorettype <> 'trigger'::regtype
),
lacking AS (
    SELECT o.place, o.what, o.name, array_agg(r.needed ORDER BY r.place) AS rights
    FROM objects o CROSS JOIN role CROSS JOIN LATERAL unnest(o.rights) WITH ORDINALITY AS r(needed, place)
    WHERE NOT CASE o.what WHEN 'SCHEMA' THEN has_schema_privilege(role.oid, o.oid, r.needed)
                          WHEN 'FUNCTION' THEN has_function_privilege(role.oid, o.oid, r.needed) AND (NOT o.is_definers OR EXISTS (
                              SELECT FROM aclexplode(coalesce(o.acl, acldefault('f', o.owner))) a
                              WHERE a.grantee <> 0 AND pg_has_role(role.oid, a.grantee, 'USAGE')))
                          WHEN 'SEQUENCE' THEN has_sequence_privilege(role.oid, o.oid, r.needed)
                          ELSE has_table_privilege(role.oid, o.oid, r.needed) END
    GROUP BY o.place, o.what, o.name
),
surplus AS (
    SELECT o.place, o.what, o.name, array_agg(a.privilege_type ORDER BY a.privilege_type) AS rights
    FROM objects o CROSS JOIN role CROSS JOIN LATERAL aclexplode(o.acl) a
    WHERE a.grantee = role.oid AND role.oid <> o.owner AND a.privilege_type <> ALL (o.rights)
    GROUP BY o.place, o.what, o.name
),
said AS (
    SELECT 0 AS turn, 0 AS place, '' AS name, format('GRANT CONNECT ON DATABASE %I TO %I', current_database(), role.name) AS said, true AS is_grant
    FROM role WHERE $2::text IS NOT NULL AND NOT has_database_privilege(role.oid, current_database(), 'CONNECT')
    UNION ALL
    SELECT 1, s.place, s.name, format('REVOKE %s ON %s %s FROM %I', array_to_string(s.rights, ', '), s.what, s.name, role.name), false
    FROM surplus s CROSS JOIN role
    UNION ALL
    SELECT 2, l.place, l.name, format('GRANT %s ON %s %s TO %I', array_to_string(l.rights, ', '), l.what, l.name, role.name), true
    FROM lacking l CROSS JOIN role
)
SELECT said, is_grant FROM said ORDER BY turn, place, name
