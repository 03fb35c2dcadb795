-- table_blocks: how many blocks a table has, to go through it a piece at a time.
-- params: name text     returns: blocks int8 (0: it is gone)
SELECT coalesce(pg_relation_size(to_regclass('windlass.' || $1::text)) / current_setting('block_size')::int8, 0) AS blocks
