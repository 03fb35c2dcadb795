-- secret_hosts_put: the hosts that a secret may go to, and no others.
-- params: name text, hosts text[]     returns: name; nothing when these were its hosts before
-- Index: primary key.
WITH bound AS (
    INSERT INTO windlass.secret_binding AS b (name, hosts) VALUES ($1, $2::text[])
    ON CONFLICT (name) DO UPDATE SET hosts = excluded.hosts, bound_at = clock_timestamp() WHERE b.hosts <> excluded.hosts
    RETURNING name, hosts
), noted AS (
    INSERT INTO windlass.event (noun, subject, type, data)
    SELECT 'secret', name, 'bound', json_build_object('hosts', hosts) FROM bound
)
SELECT name FROM bound
