-- 0012_history: days of the history come without anybody having to wait for them.

-- Make the partition of one day. The table is made by itself, with its indexes, and attached when it is whole: that locks
-- only the default partition, which finishing does not touch, and waits for it no longer than DAY_LOCK_SECONDS of limits.py.
-- While a dump or a report reads the history it cannot be had; whoever asked comes again later, and everybody else goes on.
-- Answers `made`; `there`; `busy`: somebody reads the history; `elsewhere`: another node makes one now; `taken`: rows of that
-- day lie in the default partition already, so the rest of the day goes there too.
CREATE FUNCTION windlass.make_partition(parent text, day date) RETURNS text LANGUAGE plpgsql SET lock_timeout = '250ms' AS $$
DECLARE
    part text := parent || '_' || to_char(day, 'YYYYMMDD');
BEGIN
    IF to_regclass('windlass.' || part) IS NOT NULL THEN
        RETURN 'there';
    ELSIF NOT pg_try_advisory_xact_lock(hashtext('windlass.make_partition ' || parent)) THEN
        RETURN 'elsewhere';
    END IF;
    EXECUTE format('CREATE TABLE windlass.%I (LIKE windlass.%I INCLUDING ALL)', part, parent);
    EXECUTE format('ALTER TABLE windlass.%I ATTACH PARTITION windlass.%I FOR VALUES FROM (%L) TO (%L)',
                   parent, part, day::text || ' 00:00:00+00', (day + 1)::text || ' 00:00:00+00');
    RETURN 'made';
EXCEPTION
    WHEN duplicate_table OR unique_violation THEN RETURN 'there';
    WHEN check_violation THEN RETURN 'taken';
    WHEN lock_not_available THEN RETURN 'busy';
END $$;

-- As before, by way of the above: the next day first, and no further in a table that somebody reads.
CREATE OR REPLACE FUNCTION windlass.ensure_partitions(days_ahead integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    parent text;
    today date := (now() AT TIME ZONE 'UTC')::date;
    answer text;
    made integer := 0;
BEGIN
    FOREACH parent IN ARRAY ARRAY['job_history', 'attempt', 'event', 'job_log'] LOOP
        FOR ahead IN 0 .. days_ahead LOOP
            answer := windlass.make_partition(parent, today + ahead);
            made := made + (answer = 'made')::int;
            EXIT WHEN answer IN ('busy', 'elsewhere');
        END LOOP;
    END LOOP;
    RETURN made;
END $$;
SELECT windlass.ensure_partitions(14);

-- Autovacuum would begin with a day as soon as most of it is deleted, and hold the lock that dropping it wants.
-- Answers whether that was said; where a vacuum runs already it cannot be.
CREATE FUNCTION windlass.leave_unvacuumed(part text) RETURNS boolean LANGUAGE plpgsql SET lock_timeout = '250ms' AS $$
BEGIN
    EXECUTE format('ALTER TABLE windlass.%I SET (autovacuum_enabled = false)', part);
    RETURN true;
EXCEPTION
    WHEN lock_not_available OR undefined_table THEN RETURN false;
END $$;

-- Let go of the partition of one day, after engine/partitions.py has deleted what nobody needs of it. What is left in it is
-- needed (see docs/operations.md) and goes to the default partition in the same transaction: readers find it all the time.
-- Nothing is waited for longer than DAY_LOCK_SECONDS; a lock that cannot be had leaves everything as it was.
-- Answers `dropped`; `gone`; `busy`: somebody reads it; `elsewhere`: another node is at it; `kept`: it holds more than
-- kept_max rows still, so that moving them would make others wait. It stays then, and its comment says on which day it was
-- looked through.
CREATE FUNCTION windlass.drop_partition(parent text, part text, kept_max integer) RETURNS text
    LANGUAGE plpgsql SET lock_timeout = '250ms' AS $$
DECLARE
    kept tid[];
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
    EXECUTE format('SELECT array_agg(few.ctid) FROM (SELECT ctid FROM windlass.%I LIMIT $1) few', part) INTO kept USING kept_max + 1;
    IF cardinality(kept) > kept_max THEN
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
