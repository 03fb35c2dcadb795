-- 0007_schedule: rules in time, and a ledger of every instant at which one was due.
--
-- What is due is in the row: `fire_at`. Firing is one transaction: the ledger's row, which is unique
-- by (schedule, instant), the job or execution, and the schedule's next instant. Two leaders that
-- both believe they lead still fire once.

CREATE TABLE windlass.schedule (
    id          uuid PRIMARY KEY,
    name        text NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 128),
    created_at  timestamptz NOT NULL DEFAULT now(),
    changed_at  timestamptz NOT NULL DEFAULT now(),
    next_at     timestamptz,                              -- the next instant by its rule; NULL: there is none any more
    fire_at     timestamptz,                              -- when that is to be fired: with its jitter
    last_at     timestamptz,                              -- the newest instant in the ledger; NULL: none yet
    paused_at   timestamptz,
    resumed_at  timestamptz,                              -- instants up to here fell due while it was paused
    catchup     double precision,                         -- seconds: instants missed longer ago are skipped; NULL: any
    edition     integer NOT NULL DEFAULT 1,               -- of its rule: an edit raises it
    priority    smallint,                                 -- NULL: as its job or workflow says
    overlap     text NOT NULL DEFAULT 'allow' CHECK (overlap IN ('allow', 'skip', 'queue_one', 'cancel_running')),
    misfire     text NOT NULL DEFAULT 'fire_once' CHECK (misfire IN ('fire_once', 'fire_all', 'skip')),
    note        text,                                     -- why it was paused, by whoever did; or why it cannot be fired
    owner       text,
    source      text NOT NULL DEFAULT 'api' CHECK (source IN ('api', 'app', 'import')),
    tags        text[],
    alike       uuid,                                     -- the same for all that fire alike: same rule, same job; NULL: it goes its own way
    rule        json NOT NULL,                            -- as given: cron or every or at, timezone, dst, starts_at, ends_at, jitter, calendar
    job         json,                                     -- what to submit, as of POST /v1/jobs; NULL: it starts a workflow
    workflow    json,                                     -- {"name", "version", "input"}; NULL: it submits a job
    CONSTRAINT schedule_does_one CHECK ((job IS NULL) <> (workflow IS NULL)),
    -- Nothing is silent without a reason: it has an instant, or no more to come, or is paused.
    CONSTRAINT schedule_due CHECK ((next_at IS NULL) = (fire_at IS NULL))
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX schedule_due ON windlass.schedule (fire_at) WHERE paused_at IS NULL AND fire_at IS NOT NULL;
-- Those that could not be fired: there are none, as a rule.
CREATE INDEX schedule_broken ON windlass.schedule (id) WHERE paused_at IS NULL AND note IS NOT NULL;
CREATE INDEX schedule_tags ON windlass.schedule USING gin (tags) WHERE tags IS NOT NULL;

CREATE TABLE windlass.firing (
    schedule_id  uuid NOT NULL,
    instant      timestamptz NOT NULL,
    fired_at     timestamptz NOT NULL DEFAULT clock_timestamp(), -- when it was decided
    job_id       uuid,
    execution_id uuid,
    stands_for   integer NOT NULL DEFAULT 1,              -- itself, and instants before it, too many for a row each
    state        text NOT NULL CHECK (state IN ('fired', 'late', 'skipped', 'coalesced')),
    is_asked     boolean NOT NULL DEFAULT false,          -- by a trigger or a backfill, not by its rule
    reason       text,                                    -- why it was skipped or coalesced; NULL: it was not
    PRIMARY KEY (schedule_id, instant),
    CONSTRAINT firing_made CHECK ((state IN ('fired', 'late')) OR (job_id IS NULL AND execution_id IS NULL))
);
CREATE INDEX firing_age ON windlass.firing USING brin (fired_at) WITH (pages_per_range = 16);
-- What a schedule may not overlap: its newest job or execution.
CREATE INDEX firing_made ON windlass.firing (schedule_id, fired_at DESC) WHERE state IN ('fired', 'late');
