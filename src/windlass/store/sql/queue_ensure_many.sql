-- queue_ensure_many: make queues known.
-- params: name text[]     returns: nothing
-- Index: queue primary key.
INSERT INTO windlass.queue (name)
SELECT DISTINCT name FROM unnest($1::text[]) AS name
WHERE NOT EXISTS (SELECT FROM windlass.queue q WHERE q.name = name.name)
ORDER BY name
ON CONFLICT (name) DO NOTHING
