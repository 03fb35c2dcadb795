-- target_ensure_many: rows for these targets, before jobs are parked for them.
-- params: host text[]     returns: nothing
-- Index: target primary key. Who is parked is found through its target's row (see target_news).
INSERT INTO windlass.target (host) SELECT DISTINCT unnest($1::text[]) ON CONFLICT DO NOTHING
