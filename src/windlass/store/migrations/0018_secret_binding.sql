-- 0018_secret_binding: which targets a named secret may go to.
-- A row of its own, and not a column of the versions: a rotation by a node of the release before keeps it, and the first of many
-- nodes that use an unbound secret is decided by the primary key. No row: the secret is bound by the first delivery that sends it.
CREATE TABLE windlass.secret_binding (
    name     text PRIMARY KEY CHECK (length(name) BETWEEN 1 AND 128),
    hosts    text[] NOT NULL CHECK (cardinality(hosts) BETWEEN 1 AND 50), -- as model/secret_hosts.py writes them
    bound_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
