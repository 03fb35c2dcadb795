-- local_tables: the tables that a test may have left something in.
-- params: kept text[] (names that are left alone)     returns: name, quoted
-- Index: none; the catalogue, once for each run. Partitions are emptied with their parents.
SELECT format('%I.%I', n.nspname, c.relname) AS name
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = 'windlass' AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND NOT c.relname = ANY ($1::text[])
ORDER BY c.relname
