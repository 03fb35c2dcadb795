-- 0002_enqueue: submit from any language inside the caller's own transaction.
--   SELECT windlass.enqueue('{"kind": "noop", "queue": "mail", "key": "order-42"}');
-- Takes the object of POST /v1/jobs and returns the job's id. Field names, defaults and limits are those of the HTTP API; a
-- mistake raises an exception (SQLSTATE 22023) that names the field. What a kind needs in its input is looked at when the job
-- runs. The job becomes visible when the caller commits; nodes find it at their next poll.

CREATE FUNCTION windlass.uuid7() RETURNS uuid LANGUAGE sql VOLATILE AS $$
    SELECT (lpad(to_hex(floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint), 12, '0')
            || '7' || substr(noise, 14, 3) || '8' || substr(noise, 18))::uuid
    FROM replace(gen_random_uuid()::text, '-', '') AS noise
$$;

CREATE FUNCTION windlass.refuse(field text, detail text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'windlass: /%: %', field, detail USING ERRCODE = 'invalid_parameter_value';
END $$;

-- A duration in seconds; NULL when none is given.
CREATE FUNCTION windlass.seconds(field text, value jsonb, seconds_max double precision DEFAULT 31622400)
RETURNS double precision LANGUAGE plpgsql AS $$
DECLARE
    words text[];
    given double precision;
BEGIN
    IF value IS NULL OR jsonb_typeof(value) = 'null' THEN
        RETURN NULL;
    ELSIF jsonb_typeof(value) = 'number' THEN
        given := least(greatest((value #>> '{}')::numeric, -1), 1e12)::double precision;
    ELSIF jsonb_typeof(value) = 'string' THEN
        words := regexp_match(value #>> '{}', '^([0-9]{1,9}(?:\.[0-9]{1,6})?)(ms|s|m|h|d)$');
        given := words[1]::double precision
            * CASE words[2] WHEN 'ms' THEN 0.001 WHEN 's' THEN 1 WHEN 'm' THEN 60 WHEN 'h' THEN 3600 ELSE 86400 END;
    END IF;
    IF given IS NULL OR given < 0 OR given > seconds_max THEN
        PERFORM windlass.refuse(field, format('%s is not a duration of 0 to %s seconds; give seconds or text such as "30s", "5m", "2h", "7d"',
                                              left(value::text, 60), seconds_max));
    END IF;
    RETURN given;
END $$;

-- An instant; NULL when none is given.
CREATE FUNCTION windlass.instant(field text, value jsonb) RETURNS timestamptz LANGUAGE plpgsql AS $$
DECLARE
    shape constant text := '^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?([Zz]|[+-][0-9]{2}:?[0-9]{2})$';
    given timestamptz;
BEGIN
    IF value IS NULL OR jsonb_typeof(value) = 'null' THEN
        RETURN NULL;
    ELSIF jsonb_typeof(value) = 'string' AND value #>> '{}' ~ shape THEN
        BEGIN
            given := (value #>> '{}')::timestamptz;
        EXCEPTION WHEN data_exception THEN
            NULL;  -- the 30th of February
        END;
    END IF;
    IF given IS NULL OR given < '1970-01-01 00:00:00+00' THEN
        PERFORM windlass.refuse(field, 'must be an instant with its offset, such as "2030-01-31T12:00:00Z"');
    END IF;
    RETURN given;
END $$;

-- Printable text; NULL when none is given.
CREATE FUNCTION windlass.words(field text, value jsonb, chars_max integer) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    IF value IS NULL OR jsonb_typeof(value) = 'null' THEN
        RETURN NULL;
    END IF;
    IF jsonb_typeof(value) <> 'string' OR length(value #>> '{}') NOT BETWEEN 1 AND chars_max OR value #>> '{}' ~ '[[:cntrl:]]' THEN
        PERFORM windlass.refuse(field, format('must be 1 to %s printable characters', chars_max));
    END IF;
    RETURN value #>> '{}';
END $$;

-- How often a job is tried, after a look at its whole policy.
CREATE FUNCTION windlass.tries(retry jsonb, usual integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    odd text;
    given jsonb := retry -> 'max_attempts';
BEGIN
    IF retry IS NULL OR jsonb_typeof(retry) = 'null' THEN
        RETURN usual;
    END IF;
    IF jsonb_typeof(retry) <> 'object' THEN
        PERFORM windlass.refuse('retry', 'must be an object such as {"max_attempts": 5}');
    END IF;
    SELECT k INTO odd FROM jsonb_object_keys(retry) k WHERE k NOT IN ('max_attempts', 'initial', 'factor', 'max', 'jitter') LIMIT 1;
    IF odd IS NOT NULL THEN
        PERFORM windlass.refuse('retry/' || odd, 'unknown field; known are max_attempts initial factor max jitter');
    END IF;
    IF retry ? 'max_attempts' AND (jsonb_typeof(given) <> 'number' OR given::text !~ '^[0-9]{1,4}$' OR given::numeric NOT BETWEEN 1 AND 1000) THEN
        PERFORM windlass.refuse('retry/max_attempts', 'must be a whole number between 1 and 1000');
    END IF;
    IF retry ? 'factor' AND (jsonb_typeof(retry -> 'factor') <> 'number' OR (retry ->> 'factor')::numeric NOT BETWEEN 1 AND 100) THEN
        PERFORM windlass.refuse('retry/factor', 'must be a number between 1 and 100');
    END IF;
    IF retry ? 'jitter' AND jsonb_typeof(retry -> 'jitter') <> 'boolean' THEN
        PERFORM windlass.refuse('retry/jitter', 'must be true or false');
    END IF;
    IF windlass.seconds('retry/initial', retry -> 'initial') IS NULL AND retry ? 'initial' THEN
        PERFORM windlass.refuse('retry/initial', 'must be a duration');
    END IF;
    IF windlass.seconds('retry/max', retry -> 'max') IS NULL AND retry ? 'max' THEN
        PERFORM windlass.refuse('retry/max', 'must be a duration');
    END IF;
    RETURN coalesce(given::integer, usual);
END $$;

-- The texts of a list, each once; NULL when none is given.
CREATE FUNCTION windlass.texts(field text, value jsonb, most integer, chars_max integer) RETURNS text[] LANGUAGE plpgsql AS $$
BEGIN
    IF value IS NULL OR jsonb_typeof(value) = 'null' THEN
        RETURN NULL;
    END IF;
    IF jsonb_typeof(value) <> 'array' OR jsonb_array_length(value) > most THEN
        PERFORM windlass.refuse(field, format('must be a list of at most %s texts', most));
    END IF;
    PERFORM windlass.refuse(field || '/' || place - 1, 'must be text')
    FROM jsonb_array_elements(value) WITH ORDINALITY AS one(item, place)
    WHERE windlass.words(field || '/' || place - 1, item, chars_max) IS NULL;
    RETURN nullif(ARRAY(SELECT t FROM jsonb_array_elements_text(value) WITH ORDINALITY AS one(t, place) GROUP BY t ORDER BY min(place)), '{}');
END $$;

CREATE FUNCTION windlass.enqueue(job jsonb) RETURNS text LANGUAGE plpgsql AS $$
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
BEGIN
    IF job IS NULL OR jsonb_typeof(job) <> 'object' THEN
        PERFORM windlass.refuse('', 'a job is a JSON object such as {"kind": "noop"}');
    END IF;
    SELECT k INTO odd FROM jsonb_object_keys(job) k WHERE k <> ALL (known) LIMIT 1;
    IF odd IS NOT NULL THEN
        PERFORM windlass.refuse(odd, 'unknown field; known are ' || array_to_string(known, ' '));
    END IF;
    IF coalesce(job ->> 'kind', '') NOT IN ('noop', 'wait', 'http', 'python') THEN
        PERFORM windlass.refuse('kind', 'must be one of: http noop python wait');
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
    IF jsonb_typeof(coalesce(job -> 'locks', '[]')) NOT IN ('null', 'array') OR coalesce(job -> 'locks', '[]') NOT IN ('null', '[]') THEN
        PERFORM windlass.refuse('locks', 'locks are not offered by this version; leave it out');
    END IF;
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
                              on_parent_failure, key, correlation_id, tags, depends_on, retry, input, target)
    VALUES (new_id, due, last_start, tries, unmet, unmet > 0,
            (windlass.seconds('timeout', job -> 'timeout', 604800) * 1000)::bigint, octet_length(body), level, line_name, job ->> 'kind',
            CASE WHEN unmet > 0 THEN 'blocked' ELSE 'queued' END,
            CASE WHEN parents IS NOT NULL THEN rule END,
            unique_key, job ->> 'correlation_id', windlass.texts('tags', job -> 'tags', 32, 128),
            parents, nullif(job -> 'retry', 'null')::json, body::json,
            CASE job ->> 'kind' WHEN 'http' THEN windlass.target_of(job #>> '{input,url}') END);
    INSERT INTO windlass.dependency (parent_id, child_id)
    SELECT j.id, new_id FROM windlass.job j WHERE j.id = ANY (parents);
    RETURN 'job_' || replace(new_id::text, '-', '');
END $$;
