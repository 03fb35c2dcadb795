-- 0006_workflow: definitions, executions, their steps, and the locks that work may hold.
--
-- A step of an execution is a job: `job.execution_id` and `job.step` say which, `job.item` the place
-- in a fan-out. The step that follows is inserted by the transaction that ends the one before, so
-- there is no instant at which an execution could be forgotten, and an execution's state is nothing
-- but the aggregate of its jobs.

CREATE TABLE windlass.workflow (
    name       text PRIMARY KEY CHECK (length(name) BETWEEN 1 AND 128),
    version    integer NOT NULL,                         -- the newest
    draft      json,                                     -- what is being drawn; NULL: nothing is
    created_at timestamptz NOT NULL DEFAULT now(),
    changed_at timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz                               -- takes no new executions; NULL: it does
);

-- Immutable. The hash is of the definition without its layout: the same twice is one version.
CREATE TABLE windlass.workflow_version (
    workflow     text NOT NULL REFERENCES windlass.workflow (name),
    version      integer NOT NULL CHECK (version >= 1),
    hash         bytea NOT NULL,
    definition   json NOT NULL,
    published_by text,
    created_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workflow, version)
);
CREATE FUNCTION windlass.refuse_edit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'windlass: version % of workflow % is published and final; publish another', OLD.version, OLD.workflow
        USING ERRCODE = 'check_violation';
END $$;
CREATE TRIGGER workflow_version_final BEFORE UPDATE ON windlass.workflow_version
    FOR EACH ROW EXECUTE FUNCTION windlass.refuse_edit();

CREATE TABLE windlass.execution (
    id                  uuid PRIMARY KEY,
    created_at          timestamptz NOT NULL DEFAULT now(),
    begun_at            timestamptz,                     -- its first steps were inserted; NULL: it waits for its turn
    started_at          timestamptz,                     -- of its first job; NULL: none has
    finished_at         timestamptz,                     -- of its last job; NULL: not ended, or not any more
    refreshed_at        timestamptz NOT NULL DEFAULT now(),
    deadline            timestamptz,                     -- must have ended by then; NULL: any time
    cancel_requested_at timestamptz,
    paused_at           timestamptz,                     -- no step starts; NULL: they do
    unheard_until       timestamptz,                     -- a job may not have heard of a cancel, pause or resume; NULL: all have
    parent_job_id       uuid,                            -- the step that waits for this one; NULL: nobody does
    refresh_seq         bigint NOT NULL DEFAULT 0,       -- the fence of a refresh
    version             integer NOT NULL,
    depth               smallint NOT NULL DEFAULT 0,     -- of parents above it
    shard               smallint NOT NULL CHECK (shard BETWEEN 0 AND 63),
    priority            smallint NOT NULL DEFAULT 1 CHECK (priority BETWEEN 0 AND 3),
    -- Its end is more than a state: an output, a compensation, somebody who waits for it or its turn.
    has_conclusion      boolean NOT NULL DEFAULT false,
    workflow            text NOT NULL,
    state               text NOT NULL DEFAULT 'pending'
        CHECK (state IN ('pending', 'running', 'succeeded', 'failed', 'cancelled', 'paused')),
    doom                text CHECK (doom IN ('timeout', 'refused')), -- it ends `failed` for this reason; NULL: by its jobs
    concurrency_key     text,                            -- NULL: it waits for no other
    concurrency_limit   integer CHECK (concurrency_limit >= 1),
    correlation_id      text,
    trace_id            text,
    owner               text,
    tags                text[],
    counts              json NOT NULL DEFAULT '{}',      -- jobs by state, as of refreshed_at
    input               json NOT NULL DEFAULT '{}',
    output              json,
    error               json,                            -- why it failed; NULL: it has not
    CONSTRAINT execution_ended CHECK ((state IN ('succeeded', 'failed', 'cancelled')) = (finished_at IS NOT NULL))
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
-- What a lost mark has left behind is found here, each node looking at its own shards.
CREATE INDEX execution_stale ON windlass.execution (shard, refreshed_at) WHERE finished_at IS NULL;
CREATE INDEX execution_of ON windlass.execution (workflow, id);
CREATE INDEX execution_state ON windlass.execution (state, id) WHERE finished_at IS NULL;
CREATE INDEX execution_finished ON windlass.execution (finished_at) WHERE finished_at IS NOT NULL;
-- Ends in the order in which they became known, which is not that of finished_at: who follows events must miss none.
CREATE INDEX execution_told ON windlass.execution (refreshed_at) WHERE finished_at IS NOT NULL;
CREATE INDEX execution_tags ON windlass.execution USING gin (tags) WHERE tags IS NOT NULL;
CREATE INDEX event_execution ON windlass.event (subject, seq) WHERE noun = 'execution';
CREATE INDEX execution_deadline ON windlass.execution (deadline) WHERE finished_at IS NULL AND deadline IS NOT NULL;
-- Who runs with a concurrency key, and who waits for a turn: apart, so that a long line costs nothing to those who count.
CREATE INDEX execution_running ON windlass.execution (workflow, concurrency_key, created_at, id)
    WHERE begun_at IS NOT NULL AND finished_at IS NULL AND concurrency_key IS NOT NULL;
CREATE INDEX execution_waiting ON windlass.execution (workflow, concurrency_key, created_at, id)
    WHERE begun_at IS NULL AND finished_at IS NULL AND concurrency_key IS NOT NULL;
CREATE INDEX execution_unheard ON windlass.execution (unheard_until) WHERE unheard_until IS NOT NULL;
CREATE UNIQUE INDEX execution_parent ON windlass.execution (parent_job_id) WHERE parent_job_id IS NOT NULL;

-- Which step of its execution a job is. Its failure may be foreseen by the definition: a place of a
-- fan-out, or a step whose failure another step handles; such a failure alone fails no execution.
ALTER TABLE windlass.job
    ADD COLUMN step         text,                          -- NULL: no execution's
    ADD COLUMN item         integer,                       -- place in a fan-out; NULL: it is no place
    ADD COLUMN is_foreseen  boolean NOT NULL DEFAULT false,
    ADD COLUMN locks        text[];                        -- held while it runs; NULL: none
ALTER TABLE windlass.job_history
    ADD COLUMN step         text,
    ADD COLUMN item         integer,
    ADD COLUMN is_foreseen  boolean NOT NULL DEFAULT false,
    ADD COLUMN locks        text[];
CREATE INDEX job_step ON windlass.job (execution_id, step, item) WHERE execution_id IS NOT NULL;
CREATE INDEX job_history_step ON windlass.job_history (execution_id, step, item) WHERE execution_id IS NOT NULL;

-- A step that waits for people, children or a fan-out is held by no node: what it waits for ends it.
ALTER TABLE windlass.job DROP CONSTRAINT job_owned;
ALTER TABLE windlass.job ADD CONSTRAINT job_owned CHECK (
    CASE state
        WHEN 'running' THEN (node_id IS NOT NULL OR callback_until IS NOT NULL)
            AND claim_id IS NOT NULL AND started_at IS NOT NULL AND attempt > 0
        WHEN 'blocked' THEN node_id IS NULL AND claim_id IS NULL AND waits_for > 0
        ELSE node_id IS NULL AND claim_id IS NULL AND waits_for = 0
    END) NOT VALID;
ALTER TABLE windlass.job VALIDATE CONSTRAINT job_owned;
-- A job may be parked for what is no target: its execution is paused, or a lock is not free.
ALTER TABLE windlass.job DROP CONSTRAINT job_parked_for_check;
ALTER TABLE windlass.job ADD CONSTRAINT job_parked_for_check
    CHECK (parked_for IN ('disabled', 'breaker', 'rate', 'max_running', 'crowded', 'paused', 'lock')) NOT VALID;
ALTER TABLE windlass.job DROP CONSTRAINT job_parked;
ALTER TABLE windlass.job ADD CONSTRAINT job_parked CHECK (
    parked_at IS NULL OR (state = 'queued' AND parked_for IS NOT NULL AND (target IS NOT NULL OR parked_for IN ('paused', 'lock')))) NOT VALID;
ALTER TABLE windlass.job VALIDATE CONSTRAINT job_parked_for_check;
ALTER TABLE windlass.job VALIDATE CONSTRAINT job_parked;

-- A fan-out under way. Its places end in `fan_delta`, one row a finishing batch, so that a hundred
-- thousand of them never wait for one row; their sum is exact at every instant.
CREATE TABLE windlass.fan (
    execution_id uuid NOT NULL,
    step         text NOT NULL,
    job_id       uuid NOT NULL,                          -- the step's own job, which waits for its places
    total        integer NOT NULL CHECK (total >= 0),
    expanded     integer NOT NULL DEFAULT 0,             -- places inserted so far
    parallel     integer CHECK (parallel >= 1),          -- places open at once; NULL: any number
    failures_max integer NOT NULL DEFAULT 0,             -- places that may fail
    is_stopped   boolean NOT NULL DEFAULT false,         -- more failed: no further place begins
    PRIMARY KEY (execution_id, step),
    CHECK (expanded <= total)
);
CREATE TABLE windlass.fan_delta (
    execution_id uuid NOT NULL,
    step         text NOT NULL,
    succeeded    integer NOT NULL DEFAULT 0,
    failed       integer NOT NULL DEFAULT 0              -- dead, expired, cancelled, skipped
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX fan_delta_of ON windlass.fan_delta (execution_id, step);

-- Signals to an execution. One that comes before its step is kept until the step asks for it.
CREATE TABLE windlass.execution_signal (
    id           uuid PRIMARY KEY,
    execution_id uuid NOT NULL,
    name         text NOT NULL,
    payload      json NOT NULL DEFAULT 'null',
    sent_by      text,
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    taken_by     uuid                                    -- the job that got it; NULL: it waits
);
CREATE INDEX execution_signal_waiting ON windlass.execution_signal (execution_id, name, created_at) WHERE taken_by IS NULL;
CREATE INDEX execution_signal_of ON windlass.execution_signal (execution_id, created_at);

-- A decision that a person is asked for; `job_id` is the step that waits for it.
CREATE TABLE windlass.approval (
    id           uuid PRIMARY KEY,
    job_id       uuid NOT NULL UNIQUE,
    execution_id uuid NOT NULL,
    step         text NOT NULL,
    title        text NOT NULL,
    form         json,                                   -- JSON Schema of what the answer holds; NULL: nothing
    state        text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'approved', 'rejected', 'void')),
    answer       json,
    comment      text,
    decided_by   text,
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    until        timestamptz,                            -- NULL: any time
    decided_at   timestamptz,
    CONSTRAINT approval_decided CHECK ((state = 'open') = (decided_at IS NULL))
);
CREATE INDEX approval_open ON windlass.approval (id) WHERE state = 'open';
CREATE INDEX approval_execution ON windlass.approval (execution_id);

-- Locks: a name and how many may hold it at once. The token of a grant is larger than that of every grant before it: the
-- fence. It comes from one sequence, so that it grows even when a lock was forgotten in between.
CREATE SEQUENCE windlass.lock_token;
CREATE TABLE windlass.lock (
    name       text PRIMARY KEY CHECK (length(name) BETWEEN 1 AND 128),
    capacity   integer NOT NULL DEFAULT 1 CHECK (capacity BETWEEN 1 AND 10000),
    token      bigint NOT NULL DEFAULT 0,                -- of the newest grant; 0: there was none
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX lock_idle ON windlass.lock (changed_at) WHERE capacity = 1;
-- Holds and lines change only under the lock's row; new waiters alone come without it.
CREATE TABLE windlass.lock_hold (
    lock       text NOT NULL REFERENCES windlass.lock (name) ON DELETE CASCADE,
    token      bigint NOT NULL,
    job_id     uuid,                                     -- the job that holds it until it ends; NULL: a caller of the API
    ticket     uuid,                                     -- under which a caller waited for it; NULL: a job
    owner      text,
    taken_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz,                              -- NULL: when its job ends
    PRIMARY KEY (lock, token),
    CONSTRAINT lock_hold_ends CHECK ((job_id IS NULL) = (expires_at IS NOT NULL) AND (job_id IS NULL) = (ticket IS NOT NULL))
);
CREATE UNIQUE INDEX lock_hold_job ON windlass.lock_hold (job_id, lock) WHERE job_id IS NOT NULL;
CREATE UNIQUE INDEX lock_hold_ticket ON windlass.lock_hold (ticket) WHERE ticket IS NOT NULL;
CREATE INDEX lock_hold_expires ON windlass.lock_hold (expires_at) WHERE expires_at IS NOT NULL;
-- Who waits for a lock: jobs, and callers of the API with a ticket. model/lock.py says whose turn it is.
CREATE TABLE windlass.lock_wait (
    lock        text NOT NULL,
    waiter      uuid NOT NULL,                           -- a job's id, or a caller's ticket
    since       timestamptz NOT NULL,                    -- a job that is due later waits from then on
    rank        timestamptz NOT NULL,                    -- its place in line: `since`, earlier by its priority
    look_at     timestamptz,                             -- when somebody has to look at it; NULL: who frees the lock does
    until       timestamptz,                             -- a caller waits no longer; NULL: a job, for as long as it takes
    ttl_seconds double precision,                        -- of a caller's hold; NULL: a job
    owner       text,
    priority    smallint NOT NULL,
    PRIMARY KEY (lock, waiter),
    CONSTRAINT lock_wait_caller CHECK ((until IS NULL) = (ttl_seconds IS NULL))
);
CREATE INDEX lock_wait_line ON windlass.lock_wait (lock, rank);
CREATE INDEX lock_wait_waiter ON windlass.lock_wait (waiter);
CREATE INDEX lock_wait_look ON windlass.lock_wait (look_at) WHERE look_at IS NOT NULL;
-- As of now, and not of when the statement began that asks: see lock_grant_many.
CREATE FUNCTION windlass.execution_is_paused(execution_id uuid) RETURNS boolean LANGUAGE sql VOLATILE AS $$
    SELECT e.paused_at IS NOT NULL FROM windlass.execution e WHERE e.id = $1
$$;
-- However a step comes back to its line (a retry, a lost node, a target that lets it go): while its execution is paused it
-- is parked there. What is inserted meanwhile is parked by who inserts it.
CREATE FUNCTION windlass.park_paused() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF windlass.execution_is_paused(NEW.execution_id) THEN
        NEW.parked_at := clock_timestamp();
        NEW.parked_for := 'paused';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER job_paused BEFORE UPDATE ON windlass.job FOR EACH ROW
    WHEN (NEW.execution_id IS NOT NULL AND NEW.state = 'queued' AND NEW.parked_at IS NULL
          AND (OLD.state <> 'queued' OR OLD.parked_at IS NOT NULL))
    EXECUTE FUNCTION windlass.park_paused();
-- Jobs that wait for locks and are in no line would wait for ever: they are looked for now and then.
CREATE INDEX job_parked_for_lock ON windlass.job (id) WHERE parked_for = 'lock';
-- A target lets go only whom it holds back itself.
DROP INDEX windlass.job_parked_line;
CREATE INDEX job_parked_line ON windlass.job (target, priority DESC, run_at)
    WHERE parked_at IS NOT NULL AND parked_for NOT IN ('paused', 'lock');

-- What a node can perform: its own kinds and those of its plugins. NULL: it has not said, as older nodes do not.
ALTER TABLE windlass.node ADD COLUMN kinds text[];

-- The locks that a job submitted by SQL asks for, each once: names, or objects with a capacity.
CREATE FUNCTION windlass.lock_asks(value jsonb) RETURNS TABLE (name text, capacity integer) LANGUAGE plpgsql AS $$
DECLARE
    one record;
BEGIN
    IF value IS NULL OR jsonb_typeof(value) = 'null' THEN
        RETURN;
    END IF;
    IF jsonb_typeof(value) <> 'array' OR jsonb_array_length(value) > 16 THEN
        PERFORM windlass.refuse('locks', 'must be a list of at most 16 names of locks');
    END IF;
    FOR one IN
        SELECT e.item, 'locks/' || e.place - 1 AS field,
               CASE jsonb_typeof(e.item) WHEN 'string' THEN e.item WHEN 'object' THEN e.item -> 'name' END AS named,
               CASE jsonb_typeof(e.item) WHEN 'object' THEN nullif(e.item -> 'capacity', 'null') END AS places
        FROM jsonb_array_elements(value) WITH ORDINALITY AS e(item, place)
    LOOP
        IF jsonb_typeof(one.item) NOT IN ('string', 'object')
           OR (jsonb_typeof(one.item) = 'object' AND (NOT one.item ? 'name' OR one.item - '{name,capacity}'::text[] <> '{}')) THEN
            PERFORM windlass.refuse(one.field, 'must be a name, or an object such as {"name": "gpu", "capacity": 4}');
        ELSIF jsonb_typeof(one.named) <> 'string' OR one.named #>> '{}' !~ '^[A-Za-z0-9_][^/\u0001-\u001f\u007f-\u009f]{0,127}$' THEN
            PERFORM windlass.refuse(one.field, 'must be 1 to 128 printable characters other than /, and start with a letter or digit');
        ELSIF one.places IS NOT NULL AND one.places::text !~ '^([1-9][0-9]{0,3}|10000)$' THEN
            PERFORM windlass.refuse(one.field, 'must be a whole number from 1 to 10000');
        END IF;
    END LOOP;
    RETURN QUERY
        SELECT given.name, max(given.capacity) FROM (
            SELECT CASE jsonb_typeof(e.item) WHEN 'string' THEN e.item #>> '{}' ELSE e.item ->> 'name' END AS name,
                   CASE jsonb_typeof(e.item) WHEN 'object' THEN (e.item ->> 'capacity')::integer END AS capacity, e.place
            FROM jsonb_array_elements(value) WITH ORDINALITY AS e(item, place)) given
        GROUP BY given.name ORDER BY min(given.place);
END $$;

-- As in 0002_enqueue, and now with locks, and kinds that plugins bring.
CREATE OR REPLACE FUNCTION windlass.enqueue(job jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    known constant text[] := ARRAY['kind', 'input', 'queue', 'priority', 'run_at', 'delay', 'deadline', 'timeout',
        'retry', 'depends_on', 'on_parent_failure', 'key', 'tags', 'correlation_id', 'locks'];
    odd text;
    new_id uuid := windlass.uuid7();
    line windlass.queue%ROWTYPE;
    seen record;
    parents uuid[];
    unmet integer := 0;
    body text := coalesce(job -> 'input', '{}')::text;
    level integer := array_position(ARRAY['low', 'normal', 'high', 'critical'], coalesce(job ->> 'priority', 'normal')) - 1;
    rule text := coalesce(job ->> 'on_parent_failure', 'skip');
    line_name text := coalesce(job ->> 'queue', 'default');
    rest double precision;
    due timestamptz;
    last_start timestamptz;
    unique_key text;
    tries integer;
    wanted text[];
BEGIN
    IF job IS NULL OR jsonb_typeof(job) <> 'object' THEN
        PERFORM windlass.refuse('', 'a job is a JSON object such as {"kind": "noop"}');
    END IF;
    SELECT k INTO odd FROM jsonb_object_keys(job) k WHERE k <> ALL (known) LIMIT 1;
    IF odd IS NOT NULL THEN
        PERFORM windlass.refuse(odd, 'unknown field; known are ' || array_to_string(known, ' '));
    END IF;
    -- Which kinds plugins bring is known to nodes, not to SQL: any name may be one, except what only a step can be.
    IF coalesce(job ->> 'kind', '') !~ '^[a-z][a-z0-9_]{0,63}$'
        OR job ->> 'kind' IN ('signal', 'approval', 'map', 'workflow', 'switch', 'transform', 'fail') THEN
        PERFORM windlass.refuse('kind', 'must be one of: http noop python wait, or the kind of a plugin');
    END IF;
    IF jsonb_typeof(coalesce(job -> 'input', '{}')) <> 'object' OR octet_length(body) > 1048576 THEN
        PERFORM windlass.refuse('input', 'must be an object of at most 1048576 bytes');
    END IF;
    IF line_name !~ '^[A-Za-z0-9_][A-Za-z0-9_.:-]{0,127}$' OR jsonb_typeof(coalesce(job -> 'queue', 'null')) NOT IN ('string', 'null') THEN
        PERFORM windlass.refuse('queue', 'must be 1 to 128 letters, digits and _ . : - and start with a letter or digit');
    END IF;
    IF level IS NULL THEN
        PERFORM windlass.refuse('priority', 'must be one of: low normal high critical');
    END IF;
    SELECT array_agg(a.name) INTO wanted FROM windlass.lock_asks(job -> 'locks') a;
    rest := windlass.seconds('delay', job -> 'delay');
    due := windlass.instant('run_at', job -> 'run_at');
    last_start := windlass.instant('deadline', job -> 'deadline');
    IF due IS NOT NULL AND rest > 0 THEN
        PERFORM windlass.refuse('delay', 'give run_at or delay, not both');
    ELSIF due > clock_timestamp() + interval '366 days' THEN
        PERFORM windlass.refuse('run_at', 'lies more than a year ahead');
    END IF;
    due := coalesce(due, clock_timestamp() + make_interval(secs => coalesce(rest, 0)));
    IF last_start <= clock_timestamp() THEN
        PERFORM windlass.refuse('deadline', 'lies in the past; give an instant still to come');
    ELSIF last_start <= due THEN
        PERFORM windlass.refuse('deadline', 'lies before the job is due; it could never start');
    END IF;
    IF windlass.seconds('timeout', job -> 'timeout', 604800) < 0.001 THEN
        PERFORM windlass.refuse('timeout', 'must be at least a millisecond');
    END IF;
    IF rule NOT IN ('skip', 'fail', 'run') THEN
        PERFORM windlass.refuse('on_parent_failure', 'must be one of: skip fail run');
    END IF;
    tries := windlass.tries(job -> 'retry', CASE job ->> 'kind' WHEN 'http' THEN 10 ELSE 5 END);
    unique_key := windlass.words('key', job -> 'key', 256);
    PERFORM windlass.words('correlation_id', job -> 'correlation_id', 256), windlass.texts('tags', job -> 'tags', 32, 128);
    PERFORM windlass.refuse('depends_on', format('%s is not a job id; one looks like job_<32 hex digits>', p))
    FROM unnest(windlass.texts('depends_on', job -> 'depends_on', 1000, 60)) p WHERE p !~ '^job_[0-9a-f]{32}$';
    SELECT array_agg(DISTINCT substr(p, 5)::uuid) INTO parents FROM unnest(windlass.texts('depends_on', job -> 'depends_on', 1000, 60)) p;
    IF parents IS NULL AND job ->> 'on_parent_failure' IS NOT NULL THEN
        PERFORM windlass.refuse('on_parent_failure', 'has no meaning without depends_on');
    END IF;

    -- The same order of locks as everybody's: the queue, its parents, the key.
    INSERT INTO windlass.queue (name) VALUES (line_name) ON CONFLICT DO NOTHING;
    SELECT * INTO line FROM windlass.queue q WHERE q.name = line_name;
    IF line.max_jobs IS NOT NULL OR line.max_bytes IS NOT NULL THEN
        IF current_setting('transaction_isolation') <> 'read committed' THEN
            RAISE EXCEPTION 'windlass: queue % has a limit, which an older snapshot cannot count; enqueue in a READ COMMITTED transaction', line_name
                USING ERRCODE = 'feature_not_supported';
        END IF;
        -- The lock is held to the caller's commit: a limit is never enforced outside it.
        SELECT * INTO line FROM windlass.queue q WHERE q.name = line_name FOR UPDATE;
    END IF;
    -- A key that is taken answers with the job that has it, even when the queue is full by now.
    SELECT k.job_id INTO seen FROM windlass.job_key k WHERE k.key = unique_key;
    IF FOUND THEN
        RETURN 'job_' || replace(seen.job_id::text, '-', '');
    END IF;

    IF parents IS NOT NULL THEN
        PERFORM 1 FROM windlass.job j WHERE j.id = ANY (parents) ORDER BY j.id FOR UPDATE;
        UPDATE windlass.job j SET has_children = true WHERE j.id = ANY (parents);
        GET DIAGNOSTICS unmet = ROW_COUNT;
        SELECT count(*) AS ended, count(*) FILTER (WHERE h.state <> 'succeeded') AS failed INTO seen FROM windlass.job_history h WHERE h.id = ANY (parents);
        IF unmet + seen.ended < cardinality(parents) THEN
            PERFORM windlass.refuse('depends_on', 'names a job that is not known here');
        ELSIF seen.failed > 0 AND rule <> 'run' THEN
            PERFORM windlass.refuse('depends_on', 'names a job that has ended without success; with on_parent_failure=run the job may go on');
        END IF;
    END IF;
    IF line.max_jobs IS NOT NULL OR line.max_bytes IS NOT NULL THEN
        SELECT coalesce(sum(blocked + queued + running), 0) AS jobs, coalesce(sum(bytes), 0) AS bytes INTO seen FROM (
            SELECT c.blocked, c.queued, c.running, c.bytes FROM windlass.counter c WHERE c.queue = line_name
            UNION ALL
            SELECT d.blocked, d.queued, d.running, d.bytes FROM windlass.counter_delta d WHERE d.queue = line_name) all_counts;
        IF seen.jobs + 1 > line.max_jobs OR seen.bytes + octet_length(body) > line.max_bytes THEN
            RAISE EXCEPTION 'windlass: queue_full: queue % holds % of % jobs, % of % bytes', line_name, seen.jobs,
                coalesce(line.max_jobs::text, 'any number of'), seen.bytes, coalesce(line.max_bytes::text, 'any number of')
                USING ERRCODE = 'configuration_limit_exceeded';
        END IF;
    END IF;
    IF unique_key IS NOT NULL THEN
        INSERT INTO windlass.job_key (key, job_id) VALUES (unique_key, new_id) ON CONFLICT (key) DO NOTHING;
        IF NOT FOUND THEN
            SELECT k.job_id INTO seen FROM windlass.job_key k WHERE k.key = unique_key;
            RETURN 'job_' || replace(seen.job_id::text, '-', '');
        END IF;
    END IF;

    INSERT INTO windlass.job (id, run_at, deadline, max_attempts, waits_for, was_blocked, timeout_ms, input_bytes, priority, queue, kind, state,
                              on_parent_failure, key, correlation_id, tags, depends_on, retry, input, target, locks, parked_at, parked_for)
    VALUES (new_id, due, last_start, tries, unmet, unmet > 0,
            (windlass.seconds('timeout', job -> 'timeout', 604800) * 1000)::bigint, octet_length(body), level, line_name, job ->> 'kind',
            CASE WHEN unmet > 0 THEN 'blocked' ELSE 'queued' END,
            CASE WHEN parents IS NOT NULL THEN rule END,
            unique_key, job ->> 'correlation_id', windlass.texts('tags', job -> 'tags', 32, 128),
            parents, nullif(job -> 'retry', 'null')::json, body::json,
            CASE job ->> 'kind' WHEN 'http' THEN windlass.target_of(job #>> '{input,url}') END,
            wanted, CASE WHEN wanted IS NOT NULL AND unmet = 0 THEN clock_timestamp() END,
            CASE WHEN wanted IS NOT NULL AND unmet = 0 THEN 'lock' END);
    INSERT INTO windlass.dependency (parent_id, child_id)
    SELECT j.id, new_id FROM windlass.job j WHERE j.id = ANY (parents);
    -- No row of a lock is held to the caller's commit, however late that is: others would wait for it. A node looks at this
    -- job afterwards; a level of priority is worth LOCK_LEAD_SECONDS of limits.py. Only a lock that is to have places of
    -- its own is made here, the first time that it is named.
    IF unmet = 0 THEN
        INSERT INTO windlass.lock_wait (lock, waiter, priority, since, rank, look_at)
        SELECT w, new_id, level, due, due - level * interval '300 seconds', due FROM unnest(wanted) w;
    END IF;
    INSERT INTO windlass.lock (name, capacity)
    SELECT a.name, a.capacity FROM windlass.lock_asks(job -> 'locks') a
    WHERE a.capacity IS NOT NULL AND NOT EXISTS (SELECT FROM windlass.lock l WHERE l.name = a.name) ORDER BY a.name
    ON CONFLICT DO NOTHING;
    RETURN 'job_' || replace(new_id::text, '-', '');
END $$;
