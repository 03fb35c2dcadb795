-- installation_get: what tells this installation's data from any other's: the database, when it was first migrated, and the
-- timeline, which changes when an older state is restored or a standby takes over.
-- params: none     returns: text
-- Index: none; once for each start of a node. For the primary alone: a standby writes no log.
SELECT concat_ws(' ', d.oid, m.applied_at, left(pg_walfile_name(pg_current_wal_lsn()), 8)) AS text
FROM pg_database d, (SELECT min(applied_at) AS applied_at FROM windlass.migration) m
WHERE d.datname = current_database()
