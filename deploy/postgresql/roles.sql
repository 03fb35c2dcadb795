-- roles: roles with least rights, once for each database: psql -v ON_ERROR_STOP=1 -f roles.sql  (as a superuser, in that database)
-- docs/operating/least-privilege.md says what each is for. Passwords: \password windlass_owner, and so on.

CREATE ROLE windlass_owner LOGIN;   -- migrates: windlass migrate up
CREATE ROLE windlass_node LOGIN;    -- that of the nodes: windlass migrate role windlass_node
CREATE ROLE windlass_submit NOLOGIN; -- GRANT windlass_submit TO shop: windlass migrate role windlass_submit --submitter

SELECT format('GRANT CREATE ON DATABASE %I TO windlass_owner', current_database()) \gexec
SELECT format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC', current_database()) \gexec
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
