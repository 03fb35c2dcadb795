-- secret_outdate: before a new version: the previous one goes, and without an overlap the current one too.
-- params: name text, overlap_seconds float8     returns: nothing
-- Index: primary key. A statement of its own: the index `secret_previous` has room for one.
DELETE FROM windlass.secret WHERE name = $1 AND (overlap_until IS NOT NULL OR $2::float8 <= 0)
