-- 0019_leader_row: a leader is not evicted because a transaction holds the row of its lease.

-- As in 0005_cluster, but for the row: while somebody holds it nobody can renew the lease that it says, nor begin another
-- term. Whoever has the seat then goes on leading.
CREATE OR REPLACE FUNCTION windlass.leader_wait() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    seat CONSTANT bigint := 6289644409843958084;  -- any number that is ours alone
    most_ms integer;
BEGIN
    -- A moment longer than the lease: who was seated just now has to write that it leads.
    SELECT 300 + least(10000, ceil(1000 * extract(epoch FROM greatest(lease_until, clock_timestamp()) - clock_timestamp())))
    INTO most_ms FROM windlass.leader;
    PERFORM set_config('lock_timeout', most_ms::text, true);
    BEGIN
        PERFORM pg_advisory_lock(seat);
        RETURN 'seated';
    EXCEPTION WHEN lock_not_available THEN
        NULL;
    END;
    PERFORM FROM windlass.leader WHERE lease_until <= clock_timestamp() FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN 'led';
    END IF;
    PERFORM pg_terminate_backend(l.pid)
    FROM pg_locks l
    WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
      AND (l.classid::bigint << 32) | l.objid::bigint = seat
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database());
    RETURN CASE WHEN FOUND THEN 'evicted' ELSE 'led' END;
END $$;
