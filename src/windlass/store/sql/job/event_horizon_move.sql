-- event_horizon_move: take an id for a transaction and end it, so that snapshots name all who are open and have an earlier one.
-- params: none     returns: nothing of use
-- Writes no row, and its commit waits for no disk.
SELECT pg_current_xact_id()::text AS id
