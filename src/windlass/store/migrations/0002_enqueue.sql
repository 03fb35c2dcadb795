-- 0002_enqueue: submit from any language inside the caller's own transaction.
--   SELECT windlass.enqueue('{"kind": "noop", "queue": "mail", "key": "order-42"}');
-- Takes the object of POST /v1/jobs and returns the job's id. Field names, defaults and limits are
-- those of the HTTP API; a mistake raises an exception that names the field. The job becomes visible
-- when the caller commits; nodes find it at their next poll.

CREATE FUNCTION windlass.uuid7() RETURNS uuid LANGUAGE sql VOLATILE AS $$
    SELECT (lpad(to_hex((extract(epoch FROM clock_timestamp()) * 1000)::bigint), 12, '0')
            || '7' || substr(noise, 14, 3) || '8' || substr(noise, 18))::uuid
    FROM replace(gen_random_uuid()::text, '-', '') AS noise
$$;

CREATE FUNCTION windlass.seconds(field text, value jsonb) RETURNS double precision LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    words text[];
BEGIN
    IF value IS NULL OR jsonb_typeof(value) = 'null' THEN
        RETURN NULL;
    ELSIF jsonb_typeof(value) = 'number' THEN
        IF (value #>> '{}')::numeric BETWEEN 0 AND 31622400 THEN
            RETURN (value #>> '{}')::double precision;
        END IF;
    ELSIF jsonb_typeof(value) = 'string' THEN
        words := regexp_match(value #>> '{}', '^([0-9]{1,9}(?:\.[0-9]{1,6})?)(ms|s|m|h|d)$');
        IF words IS NOT NULL THEN
            RETURN words[1]::double precision
                * CASE words[2] WHEN 'ms' THEN 0.001 WHEN 's' THEN 1 WHEN 'm' THEN 60 WHEN 'h' THEN 3600 ELSE 86400 END;
        END IF;
    END IF;
    RAISE EXCEPTION 'windlass: /%: % is not a duration; give seconds or text such as "30s", "5m", "2h", "7d"', field, value
        USING ERRCODE = 'invalid_parameter_value';
END $$;

CREATE FUNCTION windlass.enqueue(job jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    known constant text[] := ARRAY['kind', 'input', 'queue', 'priority', 'run_at', 'delay', 'deadline', 'timeout',
        'retry', 'depends_on', 'on_parent_failure', 'key', 'tags', 'correlation_id'];
    odd text;
    new_id uuid := windlass.uuid7();
    line windlass.queue%ROWTYPE;
    level smallint;
    due timestamptz;
    seen record;
    parents uuid[];
    unmet integer := 0;
    body json := coalesce(job -> 'input', '{}')::json;
    size integer := octet_length(coalesce(job -> 'input', '{}')::text);
    tries integer;
BEGIN
    IF jsonb_typeof(job) <> 'object' THEN
        RAISE EXCEPTION 'windlass: /: a job is a JSON object' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    SELECT k INTO odd FROM jsonb_object_keys(job) k WHERE k <> ALL (known) LIMIT 1;
    IF odd IS NOT NULL THEN
        RAISE EXCEPTION 'windlass: /%: unknown field; known are %', odd, array_to_string(known, ' ') USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF coalesce(job ->> 'kind', '') NOT IN ('noop', 'wait', 'http', 'python') THEN
        RAISE EXCEPTION 'windlass: /kind: must be one of noop wait http python' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF jsonb_typeof(coalesce(job -> 'input', '{}')) <> 'object' OR size > 1048576 THEN
        RAISE EXCEPTION 'windlass: /input: must be an object of at most 1048576 bytes' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    level := array_position(ARRAY['low', 'normal', 'high', 'critical'], coalesce(job ->> 'priority', 'normal')) - 1;
    IF level IS NULL THEN
        RAISE EXCEPTION 'windlass: /priority: must be low, normal, high or critical' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF coalesce(job ->> 'on_parent_failure', 'skip') NOT IN ('skip', 'fail', 'run') THEN
        RAISE EXCEPTION 'windlass: /on_parent_failure: must be skip, fail or run' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    due := coalesce((job ->> 'run_at')::timestamptz, clock_timestamp() + make_interval(secs => coalesce(windlass.seconds('delay', job -> 'delay'), 0)));
    IF (job ->> 'deadline')::timestamptz <= clock_timestamp() THEN
        RAISE EXCEPTION 'windlass: /deadline: lies in the past' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    tries := coalesce((job #>> '{retry,max_attempts}')::integer, CASE job ->> 'kind' WHEN 'http' THEN 10 ELSE 5 END);

    -- A key that is taken answers with the job that has it.
    IF job ->> 'key' IS NOT NULL THEN
        INSERT INTO windlass.job_key (key, job_id) VALUES (job ->> 'key', new_id) ON CONFLICT (key) DO NOTHING;
        IF NOT FOUND THEN
            SELECT * INTO seen FROM windlass.job_key k WHERE k.key = job ->> 'key';
            RETURN 'job_' || replace(seen.job_id::text, '-', '');
        END IF;
    END IF;

    INSERT INTO windlass.queue (name) VALUES (coalesce(job ->> 'queue', 'default')) ON CONFLICT DO NOTHING;
    SELECT * INTO line FROM windlass.queue q WHERE q.name = coalesce(job ->> 'queue', 'default');
    IF line.max_jobs IS NOT NULL OR line.max_bytes IS NOT NULL THEN
        -- The lock is held to the caller's commit: a limit is never enforced outside it.
        SELECT * INTO line FROM windlass.queue q WHERE q.name = line.name FOR UPDATE;
        SELECT sum(blocked + queued + running) AS jobs, sum(bytes) AS bytes INTO seen FROM (
            SELECT c.blocked, c.queued, c.running, c.bytes FROM windlass.counter c WHERE c.queue = line.name
            UNION ALL
            SELECT d.blocked, d.queued, d.running, d.bytes FROM windlass.counter_delta d WHERE d.queue = line.name) all_counts;
        IF coalesce(seen.jobs, 0) + 1 > line.max_jobs OR coalesce(seen.bytes, 0) + size > line.max_bytes THEN
            RAISE EXCEPTION 'windlass: queue_full: queue % holds % of % jobs, % of % bytes', line.name, seen.jobs, line.max_jobs, seen.bytes, line.max_bytes
                USING ERRCODE = 'configuration_limit_exceeded';
        END IF;
    END IF;

    IF jsonb_typeof(coalesce(job -> 'depends_on', 'null')) = 'array' AND jsonb_array_length(job -> 'depends_on') > 0 THEN
        SELECT array_agg(DISTINCT replace(p, 'job_', '')::uuid) INTO parents FROM jsonb_array_elements_text(job -> 'depends_on') p;
        PERFORM 1 FROM windlass.job j WHERE j.id = ANY (parents) ORDER BY j.id FOR UPDATE;
        UPDATE windlass.job j SET has_children = true WHERE j.id = ANY (parents);
        GET DIAGNOSTICS unmet = ROW_COUNT;
        SELECT count(*) AS ended, count(*) FILTER (WHERE h.state <> 'succeeded') AS failed INTO seen FROM windlass.job_history h WHERE h.id = ANY (parents);
        IF unmet + seen.ended < cardinality(parents) THEN
            RAISE EXCEPTION 'windlass: /depends_on: names a job that does not exist' USING ERRCODE = 'invalid_parameter_value';
        END IF;
        IF seen.failed > 0 AND coalesce(job ->> 'on_parent_failure', 'skip') <> 'run' THEN
            RAISE EXCEPTION 'windlass: /depends_on: names a job that has ended without success' USING ERRCODE = 'invalid_parameter_value';
        END IF;
    END IF;

    INSERT INTO windlass.job (id, run_at, deadline, max_attempts, waits_for, was_blocked, timeout_ms, input_bytes, priority, queue, kind, state,
                              on_parent_failure, key, correlation_id, tags, depends_on, retry, input)
    VALUES (new_id, due, (job ->> 'deadline')::timestamptz, tries, unmet, unmet > 0,
            (windlass.seconds('timeout', job -> 'timeout') * 1000)::bigint, size, level, line.name, job ->> 'kind',
            CASE WHEN unmet > 0 THEN 'blocked' ELSE 'queued' END,
            CASE WHEN parents IS NOT NULL THEN coalesce(job ->> 'on_parent_failure', 'skip') END,
            job ->> 'key', job ->> 'correlation_id',
            CASE WHEN jsonb_typeof(job -> 'tags') = 'array' THEN ARRAY(SELECT jsonb_array_elements_text(job -> 'tags')) END,
            parents, (job -> 'retry')::json, body);
    INSERT INTO windlass.dependency (parent_id, child_id)
    SELECT j.id, new_id FROM windlass.job j WHERE j.id = ANY (parents);
    RETURN 'job_' || replace(new_id::text, '-', '');
END $$;
