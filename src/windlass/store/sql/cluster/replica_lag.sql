-- replica_lag: how many seconds this server is behind its primary; 0 where it is none.
-- params: none     returns: one number
-- By the last commit that was replayed. On a primary that commits nothing it would grow by itself,
-- but nodes renew their leases every few seconds.
SELECT CASE WHEN pg_is_in_recovery()
            THEN coalesce(extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()), 0)
            ELSE 0 END::float8
