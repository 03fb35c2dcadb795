-- lock_make_many: rows for locks that have none yet.
-- params: name text[], capacity int4[] (NULL: 1)     returns: nothing
-- Index: lock primary key. In one order for everybody: two who make the same locks at once wait for each other, not in a circle.
-- A lock that is there keeps its capacity, whatever is said here.
INSERT INTO windlass.lock (name, capacity)
SELECT DISTINCT ON (g.name) g.name, coalesce(g.capacity, 1)
FROM unnest($1::text[], $2::int4[]) AS g(name, capacity) ORDER BY g.name, g.capacity DESC NULLS LAST
ON CONFLICT DO NOTHING
