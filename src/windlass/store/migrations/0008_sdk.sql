-- 0008_sdk: what tasks say while they run, what nodes say of their tasks, and what durable functions have done.

-- Lines that a task logs. A day of attempts is a partition; `attempt` goes on counting over replays, so a line has one place.
CREATE TABLE windlass.job_log (
    job_id   uuid NOT NULL,
    begun_at timestamptz NOT NULL,                       -- of the attempt
    at       timestamptz NOT NULL,
    attempt  integer NOT NULL,
    place    integer NOT NULL,                           -- among the lines of its attempt
    level    text NOT NULL CHECK (level IN ('debug', 'info', 'warning', 'error')),
    message  text NOT NULL,
    fields   json,                                       -- NULL: none
    PRIMARY KEY (job_id, attempt, place, begun_at)
) PARTITION BY RANGE (begun_at);
CREATE TABLE windlass.job_log_rest PARTITION OF windlass.job_log DEFAULT;

-- How far a job says that it is: its newest word only, forgotten with the job.
CREATE TABLE windlass.job_progress (
    job_id  uuid PRIMARY KEY,
    at      timestamptz NOT NULL,
    done    double precision NOT NULL,
    total   double precision,                            -- NULL: nobody knows
    attempt integer NOT NULL,
    message text
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);

-- Which tasks a node has. NULL: it has not said, as those of earlier releases do.
ALTER TABLE windlass.node ADD COLUMN tasks text[];

-- As before, for the new table too.
CREATE OR REPLACE FUNCTION windlass.ensure_partitions(days_ahead integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    parent text;
    day date;
    part text;
    made integer := 0;
BEGIN
    FOREACH parent IN ARRAY ARRAY['job_history', 'attempt', 'event', 'job_log'] LOOP
        FOR day IN SELECT generate_series((now() AT TIME ZONE 'UTC')::date, (now() AT TIME ZONE 'UTC')::date + days_ahead, '1 day') LOOP
            part := parent || '_' || to_char(day, 'YYYYMMDD');
            IF to_regclass('windlass.' || part) IS NULL THEN
                BEGIN
                    EXECUTE format('CREATE TABLE windlass.%I PARTITION OF windlass.%I FOR VALUES FROM (%L) TO (%L)',
                                   part, parent, day::text || ' 00:00:00+00', (day + 1)::text || ' 00:00:00+00');
                    made := made + 1;
                EXCEPTION WHEN check_violation OR duplicate_table THEN
                    NULL;  -- the default partition holds rows of that day, or another node was first
                END;
            END IF;
        END LOOP;
    END LOOP;
    RETURN made;
END $$;
SELECT windlass.ensure_partitions(7);

-- What a durable function has done: one row a step, which is never written twice. A row stands for its job whichever attempt
-- wrote it; it stays with a dead job, which goes on from there when it is tried again, and is forgotten with the job.
CREATE TABLE windlass.checkpoint (
    job_id  uuid NOT NULL,
    branch  text NOT NULL DEFAULT '',                    -- the task of asyncio that called it, as '0.1'; '': the function itself
    place   integer NOT NULL CHECK (place >= 0),         -- of the call among those of its branch
    name    text NOT NULL CHECK (length(name) BETWEEN 1 AND 256),
    kind    text NOT NULL CHECK (kind IN ('step', 'sleep', 'wait')),
    is_open boolean NOT NULL DEFAULT false,              -- a wait that neither a signal nor time has ended
    until   timestamptz,                                 -- when a sleep or a wait is over; NULL: a step, or a wait without end
    result  json,                                        -- NULL: a sleep, an open wait, or one that got nothing in time
    attempt integer NOT NULL,                            -- that wrote it
    at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (job_id, branch, place),
    CONSTRAINT checkpoint_open CHECK (NOT is_open OR (kind = 'wait' AND result IS NULL))
) WITH (autovacuum_vacuum_insert_scale_factor = 0.2, autovacuum_vacuum_cost_delay = 0);
-- Who listens for a signal.
CREATE INDEX checkpoint_listening ON windlass.checkpoint (job_id, name) WHERE is_open;
CREATE INDEX checkpoint_age ON windlass.checkpoint USING brin (at) WITH (pages_per_range = 16);
