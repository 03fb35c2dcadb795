-- quota_find_bytes: how much quota_find_many would have to read.
-- params: none     returns: bytes
-- Index: none; the size of a file.
SELECT pg_relation_size('windlass.job') AS bytes
