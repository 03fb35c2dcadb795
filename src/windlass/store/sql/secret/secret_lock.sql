-- secret_lock: one writer at a time for a name, until the caller's commit; there may be no row to lock yet.
-- params: name text     returns: one row of nothing
SELECT pg_advisory_xact_lock(hashtext('windlass.secret'), hashtext($1))
