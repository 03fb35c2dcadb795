-- secret_bind: bind a secret to the hosts of its first use, unless it is bound already; of nodes that ask together the first wins.
-- params: name text, hosts text[]     returns: hosts it is bound to now; nothing when there is no such secret
-- Index: primary keys. The update changes nothing: it locks the row of whoever was first and returns it, also when that row
-- was committed after this statement began. Whoever dies after the commit leaves a secret that is bound, and that was not sent.
WITH bound AS (
    INSERT INTO windlass.secret_binding (name, hosts)
    SELECT $1, $2::text[] WHERE EXISTS (SELECT FROM windlass.secret WHERE name = $1)
    ON CONFLICT (name) DO UPDATE SET name = excluded.name
    RETURNING name, hosts, xmax = 0 AS is_new
), noted AS (
    INSERT INTO windlass.event (noun, subject, type, data)
    SELECT 'secret', name, 'bound', json_build_object('hosts', hosts) FROM bound WHERE is_new
)
SELECT hosts FROM bound
