-- 0029_role: a node may log in as a role that owns nothing; what takes an owner is done by functions with the owner's rights.

-- To whom `windlass migrate role` has given rights: later migrations give them what is new.
CREATE TABLE windlass.role_grant (
    name       text PRIMARY KEY,
    kind       text NOT NULL CHECK (kind IN ('node', 'submitter')),
    granted_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Whether this is the partition of a day of this table. Functions with the owner's rights do nothing to any other table.
CREATE FUNCTION windlass.is_day_of(parent text, part text) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT FROM pg_inherits i
                   WHERE i.inhparent = to_regclass(format('windlass.%I', parent))
                     AND i.inhrelid = to_regclass(format('windlass.%I', part)))
       AND part ~ ('^' || parent || '_[0-9]{8}$')
$$;

-- As in 0012_history, with its owner's rights: of partitioned tables of ours, a year ahead at most. A day is for whom its table
-- is.
CREATE OR REPLACE FUNCTION windlass.make_partition(parent text, day date) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '250ms' AS $$
DECLARE
    part text := parent || '_' || to_char(day, 'YYYYMMDD');
    given record;
BEGIN
    IF NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = to_regclass(format('windlass.%I', parent)) AND c.relkind = 'p') THEN
        RAISE EXCEPTION 'windlass: % is no table that is kept by days', parent USING ERRCODE = 'invalid_parameter_value';
    ELSIF day > (now() AT TIME ZONE 'UTC')::date + 366 THEN
        RAISE EXCEPTION 'windlass: % lies more than a year ahead', day USING ERRCODE = 'invalid_parameter_value';
    ELSIF to_regclass(format('windlass.%I', part)) IS NOT NULL THEN
        RETURN 'there';
    ELSIF NOT pg_try_advisory_xact_lock(hashtext('windlass.make_partition ' || parent)) THEN
        RETURN 'elsewhere';
    END IF;
    EXECUTE format('CREATE TABLE windlass.%I (LIKE windlass.%I INCLUDING ALL)', part, parent);
    FOR given IN
        SELECT a.grantee, string_agg(a.privilege_type, ', ') AS rights
        FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) a
        WHERE c.oid = to_regclass(format('windlass.%I', parent)) AND a.grantee <> c.relowner GROUP BY a.grantee
    LOOP
        EXECUTE format('GRANT %s ON windlass.%I TO %s', given.rights, part,
                       CASE WHEN given.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(given.grantee)) END);
    END LOOP;
    EXECUTE format('ALTER TABLE windlass.%I ATTACH PARTITION windlass.%I FOR VALUES FROM (%L) TO (%L)',
                   parent, part, day::text || ' 00:00:00+00', (day + 1)::text || ' 00:00:00+00');
    RETURN 'made';
EXCEPTION
    WHEN duplicate_table OR unique_violation THEN RETURN 'there';
    WHEN check_violation THEN RETURN 'taken';
    WHEN lock_not_available THEN RETURN 'busy';
END $$;

-- As in 0012_history, with its owner's rights: of days of the history.
CREATE OR REPLACE FUNCTION windlass.leave_unvacuumed(part text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '250ms' AS $$
BEGIN
    IF NOT windlass.is_day_of(regexp_replace(part, '_[0-9]{8}$', ''), part) THEN
        RETURN false;
    END IF;
    EXECUTE format('ALTER TABLE windlass.%I SET (autovacuum_enabled = false)', part);
    RETURN true;
EXCEPTION
    WHEN lock_not_available OR undefined_table THEN RETURN false;
END $$;

-- As in 0020_history_bytes, with its owner's rights: of days of the history that are over, and of no audit log.
CREATE OR REPLACE FUNCTION windlass.drop_partition(parent text, part text, kept_max integer, kept_bytes bigint) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '250ms' AS $$
DECLARE
    kept tid[];
    bytes bigint;
    widths text;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtext('windlass.' || part)) THEN
        RETURN 'elsewhere';
    ELSIF to_regclass(format('windlass.%I', part)) IS NULL THEN
        RETURN 'gone';
    ELSIF NOT windlass.is_day_of(parent, part) OR parent LIKE 'audit\_%'
        OR to_date(right(part, 8), 'YYYYMMDD') > (now() AT TIME ZONE 'UTC')::date THEN
        RAISE EXCEPTION 'windlass: % is no day of % that is over', part, parent USING ERRCODE = 'invalid_parameter_value';
    END IF;
    -- A replay notes an end of long ago in the days of attempts and events; nothing may come in after the look. Nothing ever
    -- comes into an old day of the jobs themselves, and whoever replays or deletes one would wait for this.
    IF parent <> 'job_history' THEN
        EXECUTE format('LOCK TABLE windlass.%I IN SHARE ROW EXCLUSIVE MODE', part);
    END IF;
    -- The stored size of a value is known without reading it.
    SELECT string_agg(format('coalesce(pg_column_size(%I), 0)', attname), ' + ') INTO widths
    FROM pg_attribute WHERE attrelid = to_regclass(format('windlass.%I', part)) AND attnum > 0 AND NOT attisdropped AND attlen = -1;
    EXECUTE format('SELECT array_agg(few.ctid), sum(few.width) FROM (SELECT ctid, %s AS width FROM windlass.%I LIMIT $1) few',
                   coalesce(widths, '0'), part) INTO kept, bytes USING kept_max + 1;
    IF cardinality(kept) > kept_max OR bytes > kept_bytes THEN
        EXECUTE format('COMMENT ON TABLE windlass.%I IS %L', part, 'thinned ' || (now() AT TIME ZONE 'UTC')::date);
        EXECUTE format('ALTER TABLE windlass.%I RESET (autovacuum_enabled)', part);
        RETURN 'kept';
    END IF;
    EXECUTE format('LOCK TABLE ONLY windlass.%I IN ACCESS EXCLUSIVE MODE', parent);
    EXECUTE format('ALTER TABLE windlass.%I DETACH PARTITION windlass.%I', parent, part);
    -- Into the default partition by its own name: what moves was counted long ago.
    EXECUTE format('INSERT INTO windlass.%I SELECT * FROM windlass.%I WHERE ctid = ANY ($1)', parent || '_rest', part) USING kept;
    EXECUTE format('DROP TABLE windlass.%I', part);
    RETURN 'dropped';
EXCEPTION
    WHEN lock_not_available THEN RETURN 'busy';
END $$;

-- End the sessions that hold the leader's seat with the owner's rights, if nobody has renewed the lease: a leader that froze
-- may have logged in as the owner.
CREATE FUNCTION windlass.evict_leader(seat bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF seat <> 6289644409843958084 OR NOT EXISTS (SELECT FROM windlass.leader WHERE lease_until <= clock_timestamp()) THEN
        RETURN false;
    END IF;
    PERFORM pg_terminate_backend(l.pid)
    FROM pg_locks l
    WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
      AND (l.classid::bigint << 32) | l.objid::bigint = seat
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database());
    RETURN FOUND;
END $$;

-- As in 0019_leader_row, but where the caller may not end the session of another role, its owner may be able to.
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
    BEGIN
        PERFORM pg_terminate_backend(l.pid)
        FROM pg_locks l
        WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
          AND (l.classid::bigint << 32) | l.objid::bigint = seat
          AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database());
        RETURN CASE WHEN FOUND THEN 'evicted' ELSE 'led' END;
    EXCEPTION WHEN insufficient_privilege THEN
        RETURN CASE WHEN windlass.evict_leader(seat) THEN 'evicted' ELSE 'led' END;
    END;
END $$;

-- Who may submit by SQL needs this one right, and none to any table. A job that waits is put off by its key (debounce) with the
-- same right, as it is through HTTP. Whoever could insert jobs before, and so could call it, can still: by a right to the table, or
-- as a member of the role that writes all of them.
ALTER FUNCTION windlass.enqueue(jsonb) SECURITY DEFINER;
ALTER FUNCTION windlass.enqueue(jsonb) SET search_path = pg_catalog, pg_temp;
DO $$
DECLARE
    one record;
BEGIN
    FOR one IN SELECT p.oid::regprocedure AS name FROM pg_proc p WHERE p.pronamespace = 'windlass'::regnamespace AND p.prosecdef LOOP
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', one.name);
    END LOOP;
    FOR one IN
        SELECT DISTINCT a.grantee FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) a
        WHERE c.oid = 'windlass.job'::regclass AND a.privilege_type = 'INSERT' AND a.grantee <> c.relowner
    LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION windlass.enqueue(jsonb) TO %s',
                       CASE WHEN one.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(one.grantee)) END);
    END LOOP;
    GRANT EXECUTE ON FUNCTION windlass.enqueue(jsonb) TO pg_write_all_data;
END $$;
