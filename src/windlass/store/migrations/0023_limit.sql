-- 0023_limit: jobs carry limits of how many run at once and start a second; keys that are unique for a time; debounce.
-- A limit is a lock with a capacity, a rate or both, that no caller can take; model/job/limit.py says what it is called, and why.
-- A node of the release before does not know of rates, nor that a limit is given back between two tries: until it is gone, what
-- it runs may go beyond a rate, and holds its place while it rests.
ALTER TABLE windlass.job ADD COLUMN limits json;          -- as asked for, with the lock of each; NULL: none
ALTER TABLE windlass.job_history ADD COLUMN limits json;

ALTER TABLE windlass.lock ADD COLUMN is_limit boolean NOT NULL DEFAULT false;
ALTER TABLE windlass.lock ADD COLUMN rate double precision CHECK (rate > 0); -- starts a second; NULL: any number
ALTER TABLE windlass.lock ADD COLUMN said_by uuid; -- the newest job that has said what a limit allows; ids are in order of time
ALTER TABLE windlass.lock ADD COLUMN rate_due_at timestamptz; -- when the next one may start, if none was missed; NULL: now
-- A limit is called by its name and a value of its jobs' input.
ALTER TABLE windlass.lock DROP CONSTRAINT lock_name_check;
ALTER TABLE windlass.lock ADD CONSTRAINT lock_name_check CHECK (length(name) BETWEEN 1 AND 300);
-- A limit comes back with the next job that names it, so it is forgotten whatever its capacity.
DROP INDEX windlass.lock_idle;
CREATE INDEX lock_idle ON windlass.lock (changed_at) WHERE capacity = 1 OR is_limit;

ALTER TABLE windlass.job_key ADD COLUMN until timestamptz; -- whose it is no more; NULL: for as long as its job is kept

-- How many may start now by their rate alone: what has come due since, at most a second's worth at once.
CREATE FUNCTION windlass.rate_room(rate double precision, due_at timestamptz, at timestamptz) RETURNS double precision
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN due_at > at THEN 0 ELSE
        1 + floor(rate * extract(epoch FROM at - greatest(coalesce(due_at, '-infinity'), at - greatest(0, 1 - 1 / rate) * interval '1 second'))) END
$$;
-- When the next one may start once so many more have.
CREATE FUNCTION windlass.rate_due_after(rate double precision, due_at timestamptz, at timestamptz, count bigint) RETURNS timestamptz
LANGUAGE sql IMMUTABLE AS $$
    SELECT greatest(coalesce(due_at, '-infinity'), at - greatest(0, 1 - 1 / rate) * interval '1 second') + count / rate * interval '1 second'
$$;

-- Where a pointer leads to: as `find` in model/json/pointer.py.
CREATE FUNCTION windlass.find(value jsonb, pointer text) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY regexp_split_to_array(substr(pointer, 2), '/') LOOP
        value := CASE WHEN jsonb_typeof(value) = 'object' THEN value -> replace(replace(name, '~1', '/'), '~0', '~')
                      WHEN jsonb_typeof(value) = 'array' AND name ~ '^(0|[1-9][0-9]{0,8})$' THEN value -> name::integer END;
    END LOOP;
    RETURN value;
END $$;

-- What tells one limit from the others of its name: as `_value` in model/job/limit.py.
CREATE FUNCTION windlass.limit_value(field text, per jsonb, input jsonb) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    found jsonb;
    said text;
BEGIN
    SELECT v INTO found FROM jsonb_array_elements_text(per) WITH ORDINALITY AS one(pointer, place)
    CROSS JOIN LATERAL (SELECT windlass.find(input, pointer) AS v) lead
    WHERE v IS NOT NULL AND v <> 'null' ORDER BY place LIMIT 1;
    IF found IS NULL THEN
        RETURN '';
    ELSIF jsonb_typeof(found) IN ('string', 'boolean') THEN
        said := found #>> '{}';
    ELSIF jsonb_typeof(found) = 'number' AND (found #>> '{}')::numeric = trunc((found #>> '{}')::numeric) THEN
        said := trunc((found #>> '{}')::numeric)::text;
    ELSE
        PERFORM windlass.refuse(field, 'leads to what is no text, whole number, true or false');
    END IF;
    RETURN CASE WHEN length(said) <= 64 THEN said ELSE encode(sha256(convert_to(said, 'UTF8')), 'hex') END;
END $$;

-- The limits that a job submitted by SQL asks for: the lock of each, and what is kept with the job.
CREATE FUNCTION windlass.limit_asks(value jsonb, input jsonb) RETURNS TABLE (lock text, kept jsonb) LANGUAGE plpgsql AS $$
DECLARE
    one record;
BEGIN
    IF value IS NULL OR jsonb_typeof(value) = 'null' THEN
        RETURN;
    END IF;
    IF jsonb_typeof(value) <> 'array' OR jsonb_array_length(value) > 4 THEN
        PERFORM windlass.refuse('limits', 'must be a list of at most 4 limits, each an object such as {"name": "send_mail", "max_running": 4}');
    END IF;
    FOR one IN SELECT e.item, 'limits/' || e.place - 1 AS field FROM jsonb_array_elements(value) WITH ORDINALITY AS e(item, place) LOOP
        IF jsonb_typeof(one.item) <> 'object' OR NOT one.item ? 'name' THEN
            PERFORM windlass.refuse(one.field, 'must be an object such as {"name": "send_mail", "max_running": 4}');
        END IF;
        PERFORM windlass.refuse(one.field || '/' || k, 'unknown field; known are name max_running rate per')
        FROM jsonb_object_keys(one.item) k WHERE k NOT IN ('name', 'max_running', 'rate', 'per');
        IF jsonb_typeof(one.item -> 'name') <> 'string' OR one.item ->> 'name' !~ '^[A-Za-z0-9_][^/]{0,127}$' OR windlass.is_hidden(one.item ->> 'name') THEN
            PERFORM windlass.refuse(one.field || '/name', 'must be 1 to 128 printable characters other than /, and start with a letter or digit');
        ELSIF coalesce(one.item -> 'max_running', 'null') <> 'null'
            AND (jsonb_typeof(one.item -> 'max_running') <> 'number' OR one.item ->> 'max_running' !~ '^([1-9][0-9]{0,3}|10000)(\.0+)?$') THEN
            PERFORM windlass.refuse(one.field || '/max_running', 'must be a whole number from 1 to 10000');
        ELSIF coalesce(one.item -> 'rate', 'null') <> 'null' AND (jsonb_typeof(one.item -> 'rate') <> 'number'
            OR (one.item ->> 'rate')::numeric NOT BETWEEN 0.00001 AND 1000) THEN
            PERFORM windlass.refuse(one.field || '/rate', 'must be starts a second from 0.000010 to 1000');
        ELSIF coalesce(one.item -> 'max_running', 'null') = 'null' AND coalesce(one.item -> 'rate', 'null') = 'null' THEN
            PERFORM windlass.refuse(one.field, 'limits nothing; give max_running, rate or both');
        ELSIF coalesce(one.item -> 'per', 'null') <> 'null' THEN
            IF jsonb_typeof(one.item -> 'per') <> 'array' OR jsonb_array_length(one.item -> 'per') NOT BETWEEN 1 AND 4 THEN
                PERFORM windlass.refuse(one.field || '/per', 'must be a list of 1 to 4 pointers such as "/args/0"');
            END IF;
            PERFORM windlass.refuse(one.field || '/per',
                'must hold pointers into the input, such as "/args/0" or "/customer", of at most 256 characters')
            FROM jsonb_array_elements(one.item -> 'per') p
            WHERE jsonb_typeof(p) <> 'string' OR p #>> '{}' !~ '^/' OR length(p #>> '{}') > 256 OR windlass.is_hidden(p #>> '{}');
        END IF;
    END LOOP;
    RETURN QUERY
        SELECT DISTINCT ON (asked.lock) asked.lock, jsonb_build_object('name', asked.item -> 'name', 'max_running', trunc((asked.item ->> 'max_running')::numeric)::integer,
            'rate', asked.item -> 'rate', 'per', coalesce(nullif(asked.item -> 'per', 'null'), '[]'), 'lock', asked.lock)
        FROM (SELECT e.item, e.place, 'limit/' || (e.item ->> 'name')
                  || CASE WHEN coalesce(e.item -> 'per', 'null') = 'null' THEN ''
                          ELSE '/' || windlass.limit_value('limits/' || e.place - 1 || '/per', e.item -> 'per', input) END AS lock
              FROM jsonb_array_elements(value) WITH ORDINALITY AS e(item, place)) asked
        ORDER BY asked.lock, asked.place DESC;
END $$;

-- Put a job off that waits for its time: it runs so long from now (`at`), with this input and what follows from it: whom it calls
-- or which task it is, and its limits. False: it is not to be put off any more, or is of another kind. With the rights of whoever
-- calls: a role that may insert jobs and not change them may not do it.
CREATE FUNCTION windlass.debounce(job_id uuid, at timestamptz, pause double precision, pause_max double precision, body text,
    same_kind text, new_target text, new_task text, new_limits json, limit_locks text[]) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    was record;
    wanted text[];
    due timestamptz := at + pause * interval '1 second';
BEGIN
    SELECT j.queue, j.run_at, j.input_bytes, j.priority, ARRAY(SELECT l FROM unnest(j.locks) l WHERE l NOT LIKE 'limit/%') AS locks, least(due, j.created_at + pause_max * interval '1 second') AS due INTO was
    FROM windlass.job j
    WHERE j.id = job_id AND j.kind = same_kind AND j.state = 'queued' AND j.attempt = 0 AND j.run_at > at AND j.cancel_requested_at IS NULL
    FOR UPDATE;
    IF NOT FOUND OR was.due <= at THEN
        RETURN false;
    END IF;
    wanted := was.locks || coalesce(limit_locks, '{}');
    -- Where it waits for the target that it had, it is parked for the new one when it is claimed.
    UPDATE windlass.job j
    SET run_at = was.due, input = body::json, input_bytes = octet_length(body), target = new_target, task = new_task, limits = new_limits,
        locks = nullif(wanted, '{}'),
        parked_at = CASE WHEN wanted <> '{}' THEN coalesce(j.parked_at, at)
                         WHEN j.parked_for <> 'lock' AND j.target IS NOT DISTINCT FROM new_target THEN j.parked_at END,
        parked_for = CASE WHEN wanted <> '{}' THEN 'lock' WHEN j.parked_for <> 'lock' AND j.target IS NOT DISTINCT FROM new_target THEN j.parked_for END
    WHERE j.id = job_id;
    DELETE FROM windlass.lock_wait w WHERE w.waiter = job_id AND w.lock <> ALL (wanted);
    INSERT INTO windlass.lock_wait AS w (lock, waiter, priority, since, rank, look_at)
    SELECT DISTINCT name, job_id, was.priority, was.due, was.due - was.priority * interval '300 seconds', was.due FROM unnest(wanted) AS n(name)
    ON CONFLICT (lock, waiter) DO UPDATE SET since = was.due, rank = w.rank + (was.due - w.since), look_at = was.due;
    INSERT INTO windlass.event (noun, subject, job_id, type, data)
    VALUES ('job', replace(job_id::text, '-', ''), job_id, 'debounced', json_build_object('run_at', was.due, 'from_run_at', was.run_at));
    IF octet_length(body) <> was.input_bytes THEN
        INSERT INTO windlass.counter_delta (queue, bytes) VALUES (was.queue, octet_length(body) - was.input_bytes);
    END IF;
    RETURN true;
END $$;

-- A key that is no more this job's: its time is over, or its job has started.
CREATE FUNCTION windlass.free_key(unique_key text, job_id uuid) RETURNS void
LANGUAGE sql AS $$
    DELETE FROM windlass.job_key k WHERE k.key = $1 AND k.job_id = $2
$$;

-- As in 0022_task but for limits, keys that are unique for a time, and debounce.
CREATE OR REPLACE FUNCTION windlass.enqueue(job jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    known constant text[] := ARRAY['kind', 'input', 'queue', 'priority', 'run_at', 'delay', 'deadline', 'timeout',
        'retry', 'depends_on', 'on_parent_failure', 'key', 'tags', 'correlation_id', 'locks', 'limits', 'unique_for', 'debounce', 'debounce_max'];
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
    limit_locks text[];
    limited json;
    unique_until timestamptz;
    pause double precision;
    pause_max double precision;
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
    SELECT array_agg(a.lock), json_agg(a.kept) INTO limit_locks, limited FROM windlass.limit_asks(job -> 'limits', coalesce(job -> 'input', '{}')) a;
    wanted := wanted || limit_locks;
    rest := windlass.seconds('delay', job -> 'delay');
    pause := windlass.seconds('debounce', job -> 'debounce');
    pause_max := windlass.seconds('debounce_max', job -> 'debounce_max');
    IF coalesce(job -> 'key', 'null') = 'null' AND (pause IS NOT NULL OR coalesce(job -> 'unique_for', 'null') <> 'null') THEN
        PERFORM windlass.refuse(CASE WHEN pause IS NULL THEN 'unique_for' ELSE 'debounce' END, 'has no meaning without key');
    ELSIF pause IS NULL AND pause_max IS NOT NULL THEN
        PERFORM windlass.refuse('debounce_max', 'has no meaning without debounce');
    ELSIF pause_max < pause THEN
        PERFORM windlass.refuse('debounce_max', 'must be at least as long as debounce');
    ELSIF least(pause, windlass.seconds('unique_for', job -> 'unique_for')) < 0.001 THEN
        PERFORM windlass.refuse(CASE WHEN pause < 0.001 THEN 'debounce' ELSE 'unique_for' END, 'must be at least a millisecond');
    END IF;
    IF pause IS NOT NULL THEN
        PERFORM windlass.refuse('debounce', format('says when the job runs; give debounce or %s, not both', n))
        FROM unnest(ARRAY['unique_for', 'run_at', 'delay', 'depends_on']) n WHERE coalesce(job -> n, 'null') <> 'null';
        rest := pause;
    END IF;
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
    SELECT k.job_id, k.until <= clock_timestamp() AS is_over INTO seen FROM windlass.job_key k WHERE k.key = unique_key;
    IF FOUND THEN
        IF seen.is_over IS NOT TRUE AND (pause IS NULL OR windlass.debounce(seen.job_id, clock_timestamp(), pause, pause_max, body, job ->> 'kind',
            CASE job ->> 'kind' WHEN 'http' THEN windlass.target_of(job #>> '{input,url}') END,
            CASE job ->> 'kind' WHEN 'python' THEN windlass.task_of(job -> 'input') END, limited, limit_locks)) THEN
            RETURN 'job_' || replace(seen.job_id::text, '-', '');
        END IF;
        PERFORM windlass.free_key(unique_key, seen.job_id);
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
        unique_until := born_at + windlass.seconds('unique_for', job -> 'unique_for') * interval '1 second';
        INSERT INTO windlass.job_key (key, job_id, until) VALUES (unique_key, new_id, unique_until) ON CONFLICT (key) DO NOTHING;
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
                              on_parent_failure, key, correlation_id, tags, depends_on, retry, input, limits, target, task, locks, parked_at, parked_for)
    VALUES (new_id, born_at, due, last_start, tries, unmet, unmet > 0,
            (windlass.seconds('timeout', job -> 'timeout', 604800) * 1000)::bigint, octet_length(body), level, line_name, job ->> 'kind',
            CASE WHEN unmet > 0 THEN 'blocked' ELSE 'queued' END,
            CASE WHEN parents IS NOT NULL THEN rule END,
            unique_key, job ->> 'correlation_id', windlass.texts('tags', job -> 'tags', 32, 128),
            parents, nullif(job -> 'retry', 'null')::json, body::json, limited,
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
