-- node_register: enter a node with a fresh lease.
-- params: id uuid, name text, host text, pid int4, version text, roles text[], workers int4, lease_seconds float8,
--         queues text[] (NULL: all), queues_except text[]
-- returns: nothing
WITH entered AS (
    INSERT INTO windlass.node (id, name, host, pid, version, roles, workers, lease_until, queues, queues_except)
    VALUES ($1, $2, $3, $4, $5, $6, $7, now() + $8 * interval '1 second', $9, $10)
    RETURNING id, name
)
INSERT INTO windlass.event (noun, subject, type, data)
SELECT 'node', replace(id::text, '-', ''), 'joined', json_build_object('name', name) FROM entered
