-- 0001_spine: jobs and everything that keeps them honest.
--
-- A job that has not ended lives in `job`, a narrow hot table. When it ends its row is deleted there
-- and written to `job_history` by the same statement, so the claim index never holds the past and a
-- job is in one place only. Ordinary events (created, started, finished) are columns of that row;
-- `attempt` and `event` hold what is out of the ordinary. All three are partitioned by day.

CREATE SCHEMA IF NOT EXISTS windlass;

CREATE TABLE windlass.queue (
    name         text PRIMARY KEY CHECK (length(name) BETWEEN 1 AND 128),
    max_jobs     bigint CHECK (max_jobs >= 0),      -- unfinished jobs; NULL: no limit
    max_bytes    bigint CHECK (max_bytes >= 0),     -- input bytes of unfinished jobs; NULL: no limit
    max_running  integer CHECK (max_running >= 0),  -- attempts at once in the whole cluster; NULL: no limit
    rate         double precision CHECK (rate > 0), -- starts a second in the whole cluster; NULL: no limit
    rate_free_at timestamptz NOT NULL DEFAULT '-infinity', -- when the next start is due by `rate`
    is_paused    boolean NOT NULL DEFAULT false,
    paused_at    timestamptz,
    created_at   timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE windlass.node (
    id          uuid PRIMARY KEY,
    name        text NOT NULL,
    host        text NOT NULL,
    pid         integer NOT NULL,
    version     text NOT NULL,
    roles       text[] NOT NULL,
    workers     integer NOT NULL,
    state       text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'draining', 'left', 'lost')),
    in_flight   integer NOT NULL DEFAULT 0,
    started_at  timestamptz NOT NULL DEFAULT now(),
    beat_at     timestamptz NOT NULL DEFAULT now(),
    lease_until timestamptz NOT NULL
);
CREATE INDEX node_live ON windlass.node (lease_until) WHERE state IN ('active', 'draining');

CREATE TABLE windlass.job (
    id                  uuid PRIMARY KEY,
    run_at              timestamptz NOT NULL,
    created_at          timestamptz NOT NULL DEFAULT now(),
    started_at          timestamptz,           -- of the newest attempt; NULL: never started
    cancel_requested_at timestamptz,           -- NULL: nobody asked
    parked_at           timestamptz,           -- since when it waits for its target; NULL: it does not
    callback_until      timestamptz,           -- its receiver has it and answers until then; NULL: a node runs it
    deadline            timestamptz,           -- must have started by then; NULL: any time
    node_id             uuid,                  -- who runs it; NULL unless running
    claim_id            uuid,                  -- random, fresh for each claim; NULL unless running
    execution_id        uuid,
    attempt             integer NOT NULL DEFAULT 0,  -- number of the newest attempt: the fence
    max_attempts        integer NOT NULL CHECK (max_attempts >= 1),
    waits_for           integer NOT NULL DEFAULT 0,  -- parents that have not ended as required
    snoozes             integer NOT NULL DEFAULT 0,  -- attempts that are not spent
    timeout_ms          bigint,                -- of one attempt; NULL: the node's setting
    input_bytes         integer NOT NULL DEFAULT 0,
    priority            smallint NOT NULL CHECK (priority BETWEEN 0 AND 3),
    crashes             smallint NOT NULL DEFAULT 0, -- nodes that died while running it
    replays             smallint NOT NULL DEFAULT 0,
    has_children        boolean NOT NULL DEFAULT false,
    was_blocked         boolean NOT NULL DEFAULT false, -- it was created `blocked`
    has_pass            boolean NOT NULL DEFAULT false, -- its target's limits were asked and it may go
    queue               text NOT NULL,
    kind                text NOT NULL,
    state               text NOT NULL CHECK (state IN ('blocked', 'queued', 'running')),
    on_parent_failure   text CHECK (on_parent_failure IN ('skip', 'fail', 'run')),
    key                 text,
    correlation_id      text,
    trace_id            text,
    owner               text,                  -- who submitted it; NULL: through SQL
    target              text,                  -- whom an `http` job calls; NULL: other kinds
    parked_for          text CHECK (parked_for IN ('disabled', 'breaker', 'rate', 'max_running', 'crowded')),
    callback_hash       bytea,                 -- SHA-256 of the token that completes it
    tags                text[],
    depends_on          uuid[],
    retry               json,                  -- NULL: the default of its kind
    error               json,                  -- of the newest failed attempt
    input               json NOT NULL,
    -- No state without an owner, a due time or an unmet dependency.
    CONSTRAINT job_owned CHECK (
        CASE state
            WHEN 'running' THEN node_id IS NOT NULL AND claim_id IS NOT NULL AND started_at IS NOT NULL AND attempt > 0
            WHEN 'blocked' THEN node_id IS NULL AND claim_id IS NULL AND waits_for > 0
            ELSE node_id IS NULL AND claim_id IS NULL AND waits_for = 0
        END),
    -- Who is parked waits for a target, and says for what.
    CONSTRAINT job_parked CHECK (parked_at IS NULL OR (state = 'queued' AND target IS NOT NULL AND parked_for IS NOT NULL)),
    CONSTRAINT job_called_back CHECK (callback_until IS NULL OR (state = 'running' AND callback_hash IS NOT NULL))
) WITH (
    fillfactor = 90,
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_insert_scale_factor = 0.2, autovacuum_vacuum_cost_delay = 0,
    autovacuum_analyze_scale_factor = 0.2, autovacuum_analyze_threshold = 5000
);
-- A line is one (queue, priority); claims read it from its oldest due row on.
CREATE INDEX job_line ON windlass.job (queue, priority, run_at) WHERE state = 'queued' AND crashes < 2 AND parked_at IS NULL;
-- Jobs on their last chance are claimed alone.
CREATE INDEX job_solo ON windlass.job (run_at) WHERE state = 'queued' AND crashes >= 2 AND parked_at IS NULL;
-- Who waits for a target, in the order in which they may go; and who may go or has gone.
CREATE INDEX job_parked_line ON windlass.job (target, priority DESC, run_at) WHERE parked_at IS NOT NULL;
CREATE INDEX job_passed ON windlass.job (target) WHERE has_pass;
CREATE INDEX job_callback ON windlass.job (callback_until) WHERE callback_until IS NOT NULL;
CREATE INDEX job_held ON windlass.job (node_id) WHERE state = 'running';
CREATE INDEX job_deadline ON windlass.job (deadline) WHERE state IN ('queued', 'blocked') AND deadline IS NOT NULL;
CREATE INDEX job_cancelling ON windlass.job (node_id) WHERE state = 'running' AND cancel_requested_at IS NOT NULL;
CREATE INDEX job_execution ON windlass.job (execution_id, id) WHERE execution_id IS NOT NULL;
CREATE INDEX job_tags ON windlass.job USING gin (tags) WHERE tags IS NOT NULL;

CREATE TABLE windlass.job_history (
    LIKE windlass.job INCLUDING DEFAULTS,
    finished_at timestamptz NOT NULL,
    outcome     text CHECK (outcome IN ('succeeded', 'failed', 'timed_out', 'lost', 'cancelled')), -- of the last attempt; NULL: never started
    cause       text,    -- short name of what went wrong, for grouping dead letters
    result      json,
    detail      json,    -- of the last attempt: what its strategy keeps of it, for a webhook the delivery
    CONSTRAINT job_history_ended CHECK (state IN ('succeeded', 'dead', 'cancelled', 'expired', 'skipped')),
    CONSTRAINT job_history_succeeded CHECK (state <> 'succeeded' OR (outcome = 'succeeded' AND started_at IS NOT NULL)),
    -- G7: a cancelled job never ends succeeded, whoever writes it.
    CONSTRAINT job_history_cancelled CHECK (state <> 'succeeded' OR cancel_requested_at IS NULL),
    -- The moves of model/states.py: a claim tells that it ended from `running`, unmet parents that it was `blocked`.
    CONSTRAINT job_history_moves CHECK (
        CASE
            WHEN claim_id IS NOT NULL THEN state IN ('succeeded', 'dead', 'cancelled')
            WHEN waits_for > 0 THEN state IN ('cancelled', 'expired', 'skipped', 'dead')
            ELSE state IN ('cancelled', 'expired')
        END),
    PRIMARY KEY (id, finished_at)
) PARTITION BY RANGE (finished_at);
CREATE INDEX job_history_dead ON windlass.job_history (id) WHERE state = 'dead';
CREATE INDEX job_history_dead_target ON windlass.job_history (target, finished_at) WHERE state = 'dead' AND target IS NOT NULL;
CREATE INDEX job_history_execution ON windlass.job_history (execution_id, id) WHERE execution_id IS NOT NULL;
CREATE INDEX job_history_tags ON windlass.job_history USING gin (tags) WHERE tags IS NOT NULL;
CREATE INDEX job_history_finished ON windlass.job_history USING brin (finished_at, started_at) WITH (pages_per_range = 16, autosummarize = on);

CREATE TABLE windlass.attempt (
    job_id      uuid NOT NULL,
    attempt     integer NOT NULL,
    node_id     uuid,
    claim_id    uuid,
    started_at  timestamptz NOT NULL,
    ended_at    timestamptz NOT NULL,
    outcome     text NOT NULL CHECK (outcome IN ('succeeded', 'failed', 'timed_out', 'lost', 'snoozed', 'cancelled')),
    due_at      timestamptz,   -- when this attempt had been due: a retry overwrites the job's run_at
    next_run_at timestamptz,   -- when the job is due again; NULL: the job ended with this attempt
    error       json,
    detail      json,          -- as in job_history
    PRIMARY KEY (job_id, attempt, ended_at)
) PARTITION BY RANGE (ended_at);
CREATE INDEX attempt_ended ON windlass.attempt USING brin (ended_at, started_at) WITH (pages_per_range = 16, autosummarize = on);

-- A sequence and not an identity column: those need PostgreSQL 17 on a partitioned table.
CREATE SEQUENCE windlass.event_seq CACHE 32;
CREATE TABLE windlass.event (
    at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    seq     bigint NOT NULL DEFAULT nextval('windlass.event_seq'),
    noun    text NOT NULL,           -- job, queue, node, target
    subject text NOT NULL,           -- the job's id without its prefix, the queue's name, the node's id, the target's host
    job_id  uuid,
    type    text NOT NULL,
    data    json NOT NULL DEFAULT '{}',
    PRIMARY KEY (at, seq)
) PARTITION BY RANGE (at);
CREATE INDEX event_job ON windlass.event (job_id, seq) WHERE job_id IS NOT NULL;

CREATE TABLE windlass.dependency (
    parent_id uuid NOT NULL,   -- has not ended: the row goes when it does
    child_id  uuid NOT NULL,
    PRIMARY KEY (parent_id, child_id)
);
CREATE INDEX dependency_child ON windlass.dependency (child_id);

CREATE TABLE windlass.idempotency (
    owner      text NOT NULL,
    key        text NOT NULL,
    body_hash  bytea NOT NULL,
    job_ids    uuid[] NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (owner, key)
);
CREATE INDEX idempotency_age ON windlass.idempotency USING brin (created_at) WITH (pages_per_range = 16);

CREATE TABLE windlass.job_key (
    key    text PRIMARY KEY,
    job_id uuid NOT NULL
);
CREATE INDEX job_key_job ON windlass.job_key (job_id);

CREATE TABLE windlass.api_key (
    id           uuid PRIMARY KEY,
    name         text NOT NULL,
    role         text NOT NULL CHECK (role IN ('viewer', 'operator', 'editor', 'admin')),
    hash         bytea NOT NULL UNIQUE,   -- SHA-256 of a 256-bit random key; the key itself is nowhere
    created_at   timestamptz NOT NULL DEFAULT now(),
    revoked_at   timestamptz
);

-- Counters without a hot row: every statement that moves jobs appends one row a queue to
-- `counter_delta`; folding adds them up into `counter`. Their sum is exact at every instant.
CREATE TABLE windlass.counter (
    queue     text PRIMARY KEY,
    blocked   bigint NOT NULL DEFAULT 0,
    queued    bigint NOT NULL DEFAULT 0,
    running   bigint NOT NULL DEFAULT 0,
    succeeded bigint NOT NULL DEFAULT 0,
    dead      bigint NOT NULL DEFAULT 0,
    cancelled bigint NOT NULL DEFAULT 0,
    expired   bigint NOT NULL DEFAULT 0,
    skipped   bigint NOT NULL DEFAULT 0,
    bytes     bigint NOT NULL DEFAULT 0   -- input of the unfinished ones
);
CREATE TABLE windlass.counter_delta (
    LIKE windlass.counter INCLUDING DEFAULTS
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX counter_delta_queue ON windlass.counter_delta (queue);

CREATE FUNCTION windlass.count_job_insert() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO windlass.counter_delta (queue, blocked, queued, running, bytes)
    SELECT queue, count(*) FILTER (WHERE state = 'blocked'), count(*) FILTER (WHERE state = 'queued'),
           count(*) FILTER (WHERE state = 'running'), sum(input_bytes)
    FROM fresh GROUP BY queue;
    RETURN NULL;
END $$;
CREATE FUNCTION windlass.count_job_update() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO windlass.counter_delta (queue, blocked, queued, running)
    SELECT queue, coalesce(sum(n) FILTER (WHERE state = 'blocked'), 0), coalesce(sum(n) FILTER (WHERE state = 'queued'), 0),
           coalesce(sum(n) FILTER (WHERE state = 'running'), 0)
    FROM (SELECT queue, state, count(*) AS n FROM fresh GROUP BY queue, state
          UNION ALL
          SELECT queue, state, -count(*) FROM stale GROUP BY queue, state) moved
    GROUP BY queue;
    RETURN NULL;
END $$;
CREATE FUNCTION windlass.count_job_delete() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO windlass.counter_delta (queue, blocked, queued, running, bytes)
    SELECT queue, -count(*) FILTER (WHERE state = 'blocked'), -count(*) FILTER (WHERE state = 'queued'),
           -count(*) FILTER (WHERE state = 'running'), -sum(input_bytes)
    FROM stale GROUP BY queue;
    RETURN NULL;
END $$;
CREATE FUNCTION windlass.count_history_insert() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO windlass.counter_delta (queue, succeeded, dead, cancelled, expired, skipped)
    SELECT queue, count(*) FILTER (WHERE state = 'succeeded'), count(*) FILTER (WHERE state = 'dead'),
           count(*) FILTER (WHERE state = 'cancelled'), count(*) FILTER (WHERE state = 'expired'),
           count(*) FILTER (WHERE state = 'skipped')
    FROM fresh GROUP BY queue;
    RETURN NULL;
END $$;
CREATE FUNCTION windlass.count_history_delete() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO windlass.counter_delta (queue, succeeded, dead, cancelled, expired, skipped)
    SELECT queue, -count(*) FILTER (WHERE state = 'succeeded'), -count(*) FILTER (WHERE state = 'dead'),
           -count(*) FILTER (WHERE state = 'cancelled'), -count(*) FILTER (WHERE state = 'expired'),
           -count(*) FILTER (WHERE state = 'skipped')
    FROM stale GROUP BY queue;
    RETURN NULL;
END $$;
CREATE TRIGGER job_insert_counted AFTER INSERT ON windlass.job
    REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION windlass.count_job_insert();
CREATE TRIGGER job_update_counted AFTER UPDATE ON windlass.job
    REFERENCING OLD TABLE AS stale NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION windlass.count_job_update();
CREATE TRIGGER job_delete_counted AFTER DELETE ON windlass.job
    REFERENCING OLD TABLE AS stale FOR EACH STATEMENT EXECUTE FUNCTION windlass.count_job_delete();
CREATE TRIGGER history_insert_counted AFTER INSERT ON windlass.job_history
    REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION windlass.count_history_insert();
CREATE TRIGGER history_delete_counted AFTER DELETE ON windlass.job_history
    REFERENCING OLD TABLE AS stale FOR EACH STATEMENT EXECUTE FUNCTION windlass.count_history_delete();

-- The one table of legal moves among unfinished states; model/states.py holds the same.
CREATE FUNCTION windlass.refuse_move() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'windlass: job % may not move from % to %', OLD.id, OLD.state, NEW.state
        USING ERRCODE = 'check_violation';
END $$;
CREATE TRIGGER job_moves BEFORE UPDATE OF state ON windlass.job FOR EACH ROW
    WHEN (OLD.state <> NEW.state AND NOT (
        (OLD.state = 'queued' AND NEW.state = 'running') OR
        (OLD.state = 'running' AND NEW.state = 'queued') OR
        (OLD.state = 'blocked' AND NEW.state = 'queued')))
    EXECUTE FUNCTION windlass.refuse_move();

-- Terminal is final: a finished row never changes, and leaves only by a verb that says so.
CREATE FUNCTION windlass.refuse_rewrite() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND coalesce(current_setting('windlass.verb', true), '') IN ('replay', 'delete') THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'windlass: job % has ended (%) and is final; replay it instead', OLD.id, OLD.state
        USING ERRCODE = 'check_violation';
END $$;
CREATE TRIGGER job_history_final BEFORE UPDATE OR DELETE ON windlass.job_history
    FOR EACH ROW EXECUTE FUNCTION windlass.refuse_rewrite();

-- Days are partitions. Rows of a day that has no partition go to the default one, never to an error.
CREATE TABLE windlass.job_history_rest PARTITION OF windlass.job_history DEFAULT;
CREATE TABLE windlass.attempt_rest PARTITION OF windlass.attempt DEFAULT;
CREATE TABLE windlass.event_rest PARTITION OF windlass.event DEFAULT;

CREATE FUNCTION windlass.ensure_partitions(days_ahead integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    parent text;
    day date;
    part text;
    made integer := 0;
BEGIN
    FOREACH parent IN ARRAY ARRAY['job_history', 'attempt', 'event'] LOOP
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
