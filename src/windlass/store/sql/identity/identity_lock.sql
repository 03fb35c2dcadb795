-- identity_lock: one at a time who decides by what users and keys there are: the first of them, the last admin.
-- params: none     returns: one row of nothing
-- A statement of its own: what follows in the transaction sees what the one before has committed.
SELECT pg_advisory_xact_lock(hashtext('windlass.identity'))
