-- 0022_task: a job says which task it is of, a node which queues it serves, and tasks are known by name.
-- Nodes differ: in the App that they were given, and in the queues that they are to serve. A claim takes only what its node
-- has the task for (job_claim_many), so a job's task is a column. Jobs from before have none, and any node takes them: one
-- without the task lets them rest, as it always has.
ALTER TABLE windlass.job ADD COLUMN task text;          -- of kind python; NULL: other kinds, and jobs from before
ALTER TABLE windlass.job_history ADD COLUMN task text;

ALTER TABLE windlass.node ADD COLUMN queues text[];     -- those that it serves, in the order given; NULL: all
ALTER TABLE windlass.node ADD COLUMN queues_except text[] NOT NULL DEFAULT '{}'; -- of all, but these

-- The tasks that nodes have, or had: what each takes and gives, for whoever looks them up or runs one by hand. Written by a
-- node that starts, if it differs; which nodes have a task now is in their rows.
CREATE TABLE windlass.task (
    name         text PRIMARY KEY CHECK (length(name) BETWEEN 1 AND 256),
    app          text,                 -- that has it; NULL: an object that is no App
    description  json NOT NULL,        -- parameters, result, documentation, options of its jobs (strategies/plugins/description.py)
    described_at timestamptz NOT NULL DEFAULT now()
);

-- As strategies/python/python.py wants it; what is none is refused by whoever performs it.
CREATE FUNCTION windlass.task_of(input jsonb) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN jsonb_typeof(input -> 'task') = 'string' AND length(input ->> 'task') BETWEEN 1 AND 256 THEN input ->> 'task' END
$$;

-- Does a node that was told so serve the queue?
CREATE FUNCTION windlass.serves(queues text[], queues_except text[], queue text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT (queues IS NULL OR queue = ANY (queues)) AND queue <> ALL (queues_except)
$$;

-- As in 0021_birth but for the task.
CREATE OR REPLACE FUNCTION windlass.enqueue(job jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    known constant text[] := ARRAY['kind', 'input', 'queue', 'priority', 'run_at', 'delay', 'deadline', 'timeout',
        'retry', 'depends_on', 'on_parent_failure', 'key', 'tags', 'correlation_id', 'locks'];
    odd text;
    new_id uuid;
    born_at timestamptz;
    line record;
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
    PERFORM windlass.check_value('input', job -> 'input', body);
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
    SELECT * INTO line FROM windlass.queue_rules(line_name);
    tries := windlass.tries(job -> 'retry', CASE job ->> 'kind' WHEN 'http' THEN 10 ELSE line.usual_tries END);
    unique_key := windlass.words('key', job -> 'key', 256);
    PERFORM windlass.words('correlation_id', job -> 'correlation_id', 256), windlass.texts('tags', job -> 'tags', 32, 128);
    PERFORM windlass.refuse('depends_on', format('%s is not a job id; one looks like job_<32 hex digits>', p))
    FROM unnest(windlass.texts('depends_on', job -> 'depends_on', 1000, 60)) p WHERE p !~ '^job_[0-9a-f]{32}$';
    SELECT array_agg(DISTINCT substr(p, 5)::uuid) INTO parents FROM unnest(windlass.texts('depends_on', job -> 'depends_on', 1000, 60)) p;
    IF parents IS NULL AND job ->> 'on_parent_failure' IS NOT NULL THEN
        PERFORM windlass.refuse('on_parent_failure', 'has no meaning without depends_on');
    END IF;

    IF line.is_limited AND current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'windlass: queue % has a limit, which an older snapshot cannot count; enqueue in a READ COMMITTED transaction', line_name
            USING ERRCODE = 'feature_not_supported';
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
    -- Whatever was waited for above, this is the first instant that its transaction is known to have written at. A key that
    -- somebody else is taking is waited for below, before a row is written: so the transaction asks for its id here.
    PERFORM pg_current_xact_id();
    new_id := windlass.uuid7();
    born_at := clock_timestamp();
    IF unique_key IS NOT NULL THEN
        INSERT INTO windlass.job_key (key, job_id) VALUES (unique_key, new_id) ON CONFLICT (key) DO NOTHING;
        IF NOT FOUND THEN
            SELECT k.job_id INTO seen FROM windlass.job_key k WHERE k.key = unique_key;
            RETURN 'job_' || replace(seen.job_id::text, '-', '');
        END IF;
    END IF;
    -- A full queue is told at once, by a look that holds nothing. What counts is the look at the commit.
    IF line.is_limited THEN
        PERFORM windlass.refuse_beyond(line_name, line.max_jobs, line.max_bytes, 1, octet_length(body));
    END IF;

    INSERT INTO windlass.job (id, created_at, run_at, deadline, max_attempts, waits_for, was_blocked, timeout_ms, input_bytes, priority, queue, kind, state,
                              on_parent_failure, key, correlation_id, tags, depends_on, retry, input, target, task, locks, parked_at, parked_for)
    VALUES (new_id, born_at, due, last_start, tries, unmet, unmet > 0,
            (windlass.seconds('timeout', job -> 'timeout', 604800) * 1000)::bigint, octet_length(body), level, line_name, job ->> 'kind',
            CASE WHEN unmet > 0 THEN 'blocked' ELSE 'queued' END,
            CASE WHEN parents IS NOT NULL THEN rule END,
            unique_key, job ->> 'correlation_id', windlass.texts('tags', job -> 'tags', 32, 128),
            parents, nullif(job -> 'retry', 'null')::json, body::json,
            CASE job ->> 'kind' WHEN 'http' THEN windlass.target_of(job #>> '{input,url}') END,
            CASE job ->> 'kind' WHEN 'python' THEN windlass.task_of(job -> 'input') END,
            wanted, CASE WHEN wanted IS NOT NULL AND unmet = 0 THEN clock_timestamp() END,
            CASE WHEN wanted IS NOT NULL AND unmet = 0 THEN 'lock' END);
    IF line.is_limited OR NOT line.is_known THEN
        PERFORM windlass.at_commit('queue', line_name);
    END IF;
    INSERT INTO windlass.dependency (parent_id, child_id)
    SELECT j.id, new_id FROM windlass.job j WHERE j.id = ANY (parents);
    -- No row of a lock is held to the caller's commit, however late that is: others would wait for it. A node looks at this
    -- job afterwards; a level of priority is worth LOCK_LEAD_SECONDS of limits.py.
    IF unmet = 0 THEN
        INSERT INTO windlass.lock_wait (lock, waiter, priority, since, rank, look_at)
        SELECT w, new_id, level, due, due - level * interval '300 seconds', due FROM unnest(wanted) w;
    END IF;
    -- Only a lock that is to have places of its own is made, the first time that it is named.
    PERFORM windlass.at_commit('lock', a.name, a.capacity) FROM windlass.lock_asks(job -> 'locks') a
    WHERE a.capacity IS NOT NULL AND NOT EXISTS (SELECT FROM windlass.lock l WHERE l.name = a.name);
    RETURN 'job_' || replace(new_id::text, '-', '');
END $$;
