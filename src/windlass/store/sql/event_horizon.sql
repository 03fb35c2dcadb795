-- event_horizon: what time it is, and which transactions that have written something are open.
-- params: none     returns: now, is_open int8[]
-- Nothing is read but the snapshot. Ids and not their beginnings: when a transaction of another role began is hidden.
SELECT clock_timestamp() AS now,
       ARRAY(SELECT pg_snapshot_xip(pg_current_snapshot())::text::int8) AS is_open
