-- 0020_history_bytes: what moves when a day is dropped is bounded in bytes, too.

-- As in 0012_history, which stays for nodes of the release before; but a few thousand large results are not moved either:
-- finishing waits while they are. `kept`: it holds more than kept_max rows or kept_bytes still.
CREATE FUNCTION windlass.drop_partition(parent text, part text, kept_max integer, kept_bytes bigint) RETURNS text
    LANGUAGE plpgsql SET lock_timeout = '250ms' AS $$
DECLARE
    kept tid[];
    bytes bigint;
    widths text;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtext('windlass.' || part)) THEN
        RETURN 'elsewhere';
    ELSIF to_regclass('windlass.' || part) IS NULL THEN
        RETURN 'gone';
    END IF;
    -- A replay notes an end of long ago in the days of attempts and events; nothing may come in after the look. Nothing ever
    -- comes into an old day of the jobs themselves, and whoever replays or deletes one would wait for this.
    IF parent <> 'job_history' THEN
        EXECUTE format('LOCK TABLE windlass.%I IN SHARE ROW EXCLUSIVE MODE', part);
    END IF;
    -- The stored size of a value is known without reading it.
    SELECT string_agg(format('coalesce(pg_column_size(%I), 0)', attname), ' + ') INTO widths
    FROM pg_attribute WHERE attrelid = to_regclass('windlass.' || part) AND attnum > 0 AND NOT attisdropped AND attlen = -1;
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
