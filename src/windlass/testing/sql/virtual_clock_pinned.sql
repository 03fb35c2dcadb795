-- virtual_clock_pinned: functions that look nowhere but in pg_catalog are told of the clock, too.
-- params: none     returns: nothing. Run once, after the migrations.
DO $$
DECLARE
    one record;
BEGIN
    FOR one IN
        SELECT p.oid::regprocedure AS name FROM pg_proc p
        WHERE p.pronamespace = 'windlass'::regnamespace AND p.proconfig::text LIKE '%search_path=pg_catalog%'
    LOOP
        EXECUTE format('ALTER FUNCTION %s SET search_path = windlass_clock, pg_catalog, pg_temp', one.name);
    END LOOP;
END $$;
