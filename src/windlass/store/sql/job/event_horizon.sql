-- event_horizon: what time it is, and which transactions that have written something are open.
-- params: none     returns: now, is_open int8[], is_blind (there may be others: event_horizon_move brings them into sight)
-- Nothing is read but the snapshot. Ids and not their beginnings: when a transaction of another role began is hidden.
-- A snapshot names those that are open below the newest id that has ended, and none above it: where nothing ended since, the only
-- open transaction is not seen. The age of that limit is how many ids were given since.
SELECT clock_timestamp() AS now,
       ARRAY(SELECT pg_snapshot_xip(pg_current_snapshot())::text::int8) AS is_open,
       age(pg_snapshot_xmax(pg_current_snapshot())::xid) > 0 AS is_blind
