-- clock_set: let the database's clock show another instant from now on; it goes on from there.
-- params: at timestamptz (NULL: the real one)     returns: by (how far it is ahead)
-- Index: none; one row.
UPDATE windlass_clock.shift SET by = coalesce($1::timestamptz - pg_catalog.clock_timestamp(), '0') RETURNING by
