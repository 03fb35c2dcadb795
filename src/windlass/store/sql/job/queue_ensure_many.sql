-- queue_ensure_many: make queues known.
-- params: name text[], lock_ms int4 (NULL: as long as the transaction waits for anything)     returns: nothing
-- Index: queue primary key. A queue that is known is not touched, whoever holds its row. One that another transaction is
-- just making has to be waited for: for lock_ms at most, which is set here, as a statement of its own has no transaction
-- to set it for. All names are read before the first is inserted, so it is set by then.
WITH patience AS MATERIALIZED (
    SELECT set_config('lock_timeout', coalesce($2::int4::text, current_setting('lock_timeout')), true)
)
INSERT INTO windlass.queue (name)
SELECT DISTINCT name FROM unnest($1::text[]) AS name, patience
WHERE NOT EXISTS (SELECT FROM windlass.queue q WHERE q.name = name.name)
ORDER BY name
ON CONFLICT (name) DO NOTHING
