-- 0016_admission: an open transaction around windlass.enqueue holds no queue, and SQL refuses what HTTP does.
--
-- A limit is counted under the lock of the queue's row. To take it at the call would keep it for the rest of the caller's
-- transaction, and everybody else who needs that queue would wait. So the call looks without a lock, which tells a full
-- queue at once, and leaves a note in `enqueue_note`; a deferred trigger on it locks and counts while the caller commits.
-- A queue that nobody has named before, and a lock with places of its own, are made there too: their new rows would be
-- waited for in the same way.

-- What the owner's settings say for queues and jobs that do not; told by the nodes that serve the API. One row.
CREATE TABLE windlass.installation (
    is_only            boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    queue_max_jobs     bigint CHECK (queue_max_jobs >= 0),    -- NULL: no limit
    queue_max_bytes    bigint CHECK (queue_max_bytes >= 0),   -- NULL: no limit
    retry_max_attempts integer CHECK (retry_max_attempts >= 1), -- NULL: as always
    told_at            timestamptz NOT NULL DEFAULT now()
);

-- What is left to a transaction's commit: queues to be made or counted, and locks to be made. Rows never outlive their
-- transaction.
CREATE UNLOGGED TABLE windlass.enqueue_note (
    txid     xid8 NOT NULL,
    noun     text NOT NULL CHECK (noun IN ('queue', 'lock')),
    name     text NOT NULL,
    capacity integer,                                    -- of a lock
    PRIMARY KEY (txid, noun, name)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

-- The limits of a queue, its own or the owner's. These are asked with the rights of their owner, so that a role that could
-- call windlass.enqueue before can do so still.
CREATE FUNCTION windlass.queue_rules(
    line_name text, OUT max_jobs bigint, OUT max_bytes bigint, OUT is_limited boolean, OUT is_known boolean, OUT usual_tries integer
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    SELECT i.queue_max_jobs, i.queue_max_bytes, i.retry_max_attempts INTO max_jobs, max_bytes, usual_tries FROM windlass.installation i;
    usual_tries := coalesce(usual_tries, 5);
    SELECT coalesce(q.max_jobs, queue_rules.max_jobs), coalesce(q.max_bytes, queue_rules.max_bytes) INTO max_jobs, max_bytes
    FROM (SELECT) one LEFT JOIN windlass.queue q ON q.name = line_name;
    is_known := EXISTS (SELECT FROM windlass.queue q WHERE q.name = line_name);
    is_limited := max_jobs IS NOT NULL OR max_bytes IS NOT NULL;
END $$;

-- Raises if a queue that gets so many jobs and bytes more goes beyond its limits.
CREATE FUNCTION windlass.refuse_beyond(line_name text, max_jobs bigint, max_bytes bigint, more_jobs bigint, more_bytes bigint)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    seen record;
BEGIN
    SELECT coalesce(sum(blocked + queued + running), 0) AS jobs, coalesce(sum(bytes), 0) AS bytes INTO seen FROM (
        SELECT c.blocked, c.queued, c.running, c.bytes FROM windlass.counter c WHERE c.queue = line_name
        UNION ALL
        SELECT d.blocked, d.queued, d.running, d.bytes FROM windlass.counter_delta d WHERE d.queue = line_name) all_counts;
    IF seen.jobs + more_jobs > max_jobs OR seen.bytes + more_bytes > max_bytes THEN
        RAISE EXCEPTION 'windlass: queue_full: queue % holds % of % jobs, % of % bytes', line_name, seen.jobs,
            coalesce(max_jobs::text, 'any number of'), seen.bytes, coalesce(max_bytes::text, 'any number of')
            USING ERRCODE = 'configuration_limit_exceeded';
    END IF;
END $$;

-- One note for a thing and a transaction, however many jobs it enqueues.
CREATE FUNCTION windlass.at_commit(noun text, name text, capacity integer DEFAULT NULL) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    INSERT INTO windlass.enqueue_note (txid, noun, name, capacity) VALUES (pg_current_xact_id(), $1, $2, $3) ON CONFLICT DO NOTHING
$$;

-- The first note that is seen to stands for all of its transaction: rows are locked in one order for everybody.
CREATE FUNCTION windlass.see_to_notes() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    queues text[];
    locks text[];
    capacities integer[];
    line_name text;
    line record;
BEGIN
    WITH gone AS (DELETE FROM windlass.enqueue_note n WHERE n.txid = pg_current_xact_id() RETURNING n.noun, n.name, n.capacity)
    SELECT array_agg(g.name ORDER BY g.name) FILTER (WHERE g.noun = 'queue'),
           array_agg(g.name ORDER BY g.name) FILTER (WHERE g.noun = 'lock'),
           array_agg(g.capacity ORDER BY g.name) FILTER (WHERE g.noun = 'lock')
    INTO queues, locks, capacities FROM gone g;
    INSERT INTO windlass.queue (name)
    SELECT n FROM unnest(queues) n WHERE NOT EXISTS (SELECT FROM windlass.queue q WHERE q.name = n) ORDER BY n
    ON CONFLICT DO NOTHING;
    FOREACH line_name IN ARRAY coalesce(queues, '{}') LOOP
        SELECT * INTO line FROM windlass.queue_rules(line_name);
        IF line.is_limited THEN
            PERFORM 1 FROM windlass.queue q WHERE q.name = line_name FOR UPDATE;
            -- By statements of their own: they see what whoever held it before has committed, its limits included.
            SELECT * INTO line FROM windlass.queue_rules(line_name);
            PERFORM windlass.refuse_beyond(line_name, line.max_jobs, line.max_bytes, 0, 0);
        END IF;
    END LOOP;
    INSERT INTO windlass.lock (name, capacity)
    SELECT g.name, g.capacity FROM unnest(locks, capacities) AS g(name, capacity)
    WHERE NOT EXISTS (SELECT FROM windlass.lock l WHERE l.name = g.name) ORDER BY g.name
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER enqueue_note_seen_to AFTER INSERT ON windlass.enqueue_note
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION windlass.see_to_notes();

-- What HTTP refuses in a value: numbers that no double holds, and nesting deeper than JSON_DEPTH_MAX of limits.py. (Half
-- surrogates and U+0000 are no jsonb.) `body` is the value as text, in which every digit is written out.
CREATE FUNCTION windlass.check_value(field text, value jsonb, body text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF body ~ '[0-9]{255}[0-9]{54}' AND jsonb_path_exists(value, 'strict $.** ? (@.type() == "number" && (@ >= 1.7976931348623158e308 || @ <= -1.7976931348623158e308))') THEN
        PERFORM windlass.refuse(field, 'holds a number that is too large');
    END IF;
    IF length(body) - length(translate(body, '[{', '')) > 64
        AND jsonb_path_exists(value, 'strict $.**{64 to last} ? (@.type() == "object" || @.type() == "array")') THEN
        PERFORM windlass.refuse(field, 'is nested deeper than 64 levels');
    END IF;
END $$;

-- As before, and what Python calls unprintable is refused here too: controls, formats, private characters, odd spaces.
CREATE OR REPLACE FUNCTION windlass.words(field text, value jsonb, chars_max integer) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    odd constant text := '[\u0001-\u001F\u007F-\u00A0\u00AD\u0600-\u0605\u061C\u06DD\u070F\u0890-\u0891\u08E2\u1680\u180E\u2000-\u200F\u2028-\u202F'
        '\u205F-\u2064\u2066-\u206F\u3000\uE000-\uF8FF\uFEFF\uFFF9-\uFFFB\U000110BD\U000110CD\U00013430-\U00013438\U0001BCA0-\U0001BCA3'
        '\U0001D173-\U0001D17A\U000E0001\U000E0020-\U000E007F\U000F0000-\U000FFFFD\U00100000-\U0010FFFD]';
BEGIN
    IF value IS NULL OR jsonb_typeof(value) = 'null' THEN
        RETURN NULL;
    END IF;
    IF jsonb_typeof(value) <> 'string' OR length(value #>> '{}') NOT BETWEEN 1 AND chars_max OR value #>> '{}' ~ odd THEN
        PERFORM windlass.refuse(field, format('must be 1 to %s printable characters', chars_max));
    END IF;
    RETURN value #>> '{}';
END $$;

-- As in 0006_workflow; limits are counted at the commit, and the owner's settings hold here too.
CREATE OR REPLACE FUNCTION windlass.enqueue(job jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    known constant text[] := ARRAY['kind', 'input', 'queue', 'priority', 'run_at', 'delay', 'deadline', 'timeout',
        'retry', 'depends_on', 'on_parent_failure', 'key', 'tags', 'correlation_id', 'locks'];
    odd text;
    new_id uuid := windlass.uuid7();
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
