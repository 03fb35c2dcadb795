-- virtual_clock: the clock of a test's database: PostgreSQL's own, plus a shift that the test sets.
-- params: none     returns: nothing. Run once, on an empty database, before the migrations.
-- Statements say now(), statement_timestamp() and clock_timestamp() without a schema, and so do column defaults. The schema that answers here
-- stands before pg_catalog in every session's search path, so what time it is is asked in one function only. Not in SQL but in
-- plpgsql: an SQL function that reads a table is planned anew in each statement. Functions that have a path of their own: see
-- virtual_clock_pinned.
CREATE SCHEMA windlass_clock;
CREATE TABLE windlass_clock.shift (is_row boolean PRIMARY KEY DEFAULT true CHECK (is_row), by interval NOT NULL DEFAULT '0');
INSERT INTO windlass_clock.shift DEFAULT VALUES;
CREATE FUNCTION windlass_clock.now() RETURNS timestamptz LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
BEGIN
    RETURN pg_catalog.now() + (SELECT s.by FROM windlass_clock.shift s);
END $$;
CREATE FUNCTION windlass_clock.clock_timestamp() RETURNS timestamptz LANGUAGE plpgsql VOLATILE PARALLEL SAFE AS $$
BEGIN
    RETURN pg_catalog.clock_timestamp() + (SELECT s.by FROM windlass_clock.shift s);
END $$;
CREATE FUNCTION windlass_clock.statement_timestamp() RETURNS timestamptz LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
BEGIN
    RETURN pg_catalog.statement_timestamp() + (SELECT s.by FROM windlass_clock.shift s);
END $$;
DO $$
BEGIN
    EXECUTE format('ALTER DATABASE %I SET search_path = windlass_clock, pg_catalog, public', current_database());
END $$;
