-- 0021_birth: what windlass.enqueue creates bears the instant at which its transaction begins to write; and its texts are those
-- that HTTP takes.
-- Whoever follows events knows since when a transaction may have written something: since it got an id, which is when it
-- first writes or locks a row. The statement may have begun long before: it read for a while first, it calls the function at
-- the end of a long procedure, or it waited for a parent that somebody held. Its job would be created in a past that
-- followers have left behind. The id is made at the same instant, for by the time inside it events are found.
-- (0013_event_order gave it the time of the statement.)
ALTER TABLE windlass.job ALTER COLUMN created_at SET DEFAULT clock_timestamp();

-- What model/printable.py refuses in text that is shown in one line; joiners, odd spaces and private characters are none of it.
CREATE FUNCTION windlass.is_hidden(value text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT value ~ '[\u0001-\u001F\u007F-\u009F\u00AD\u061C\u200B\u200E\u200F\u2028-\u202E\u2060-\u206F\uFEFF]'
$$;

-- As in 0016_admission but for that.
CREATE OR REPLACE FUNCTION windlass.words(field text, value jsonb, chars_max integer) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    IF value IS NULL OR jsonb_typeof(value) = 'null' THEN
        RETURN NULL;
    END IF;
    IF jsonb_typeof(value) <> 'string' OR length(value #>> '{}') NOT BETWEEN 1 AND chars_max OR windlass.is_hidden(value #>> '{}') THEN
        PERFORM windlass.refuse(field, format('must be 1 to %s printable characters', chars_max));
    END IF;
    RETURN value #>> '{}';
END $$;

-- As in 0006_workflow but for that.
CREATE OR REPLACE FUNCTION windlass.lock_asks(value jsonb) RETURNS TABLE (name text, capacity integer) LANGUAGE plpgsql AS $$
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
        ELSIF jsonb_typeof(one.named) <> 'string' OR one.named #>> '{}' !~ '^[A-Za-z0-9_][^/]{0,127}$' OR windlass.is_hidden(one.named #>> '{}') THEN
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

-- As in 0016_admission but for when it is born, and under which id.
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
                              on_parent_failure, key, correlation_id, tags, depends_on, retry, input, target, locks, parked_at, parked_for)
    VALUES (new_id, born_at, due, last_start, tries, unmet, unmet > 0,
            (windlass.seconds('timeout', job -> 'timeout', 604800) * 1000)::bigint, octet_length(body), level, line_name, job ->> 'kind',
            CASE WHEN unmet > 0 THEN 'blocked' ELSE 'queued' END,
            CASE WHEN parents IS NOT NULL THEN rule END,
            unique_key, job ->> 'correlation_id', windlass.texts('tags', job -> 'tags', 32, 128),
            parents, nullif(job -> 'retry', 'null')::json, body::json,
            CASE job ->> 'kind' WHEN 'http' THEN windlass.target_of(job #>> '{input,url}') END,
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
