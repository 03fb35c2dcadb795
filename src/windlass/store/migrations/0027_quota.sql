-- 0027_quota: quotas of keys and users, and how quickly a queue takes jobs.
-- A node of the release before knows of none of it: until it is gone, what comes through it is neither counted nor refused.

-- What a user, and a key, may have: {"requests_per_second": 5, "requests_burst": 20, "jobs_per_day": 1000, "bytes_waiting": 1048576},
-- each of them or not; model/identity/quota.py reads it. NULL: nothing of its own.
ALTER TABLE windlass.user_account ADD COLUMN quota json CHECK (json_typeof(quota) = 'object');
ALTER TABLE windlass.api_key ADD COLUMN quota json CHECK (json_typeof(quota) = 'object');

-- What those who have a quota of jobs have used of it. Nobody else has a row. It is locked by the transaction that admits jobs,
-- before they are judged, and written by it once, whatever their number.
CREATE TABLE windlass.quota_use (
    subject    uuid PRIMARY KEY,                     -- a user or a key
    user_id    uuid REFERENCES windlass.user_account (id) ON DELETE CASCADE,
    key_id     uuid REFERENCES windlass.api_key (id) ON DELETE CASCADE,
    day        date NOT NULL,                        -- in UTC; it never goes back
    jobs       bigint NOT NULL DEFAULT 0,            -- of that day
    bytes      bigint NOT NULL DEFAULT 0,            -- waiting when they were counted, and what came since: never too little
    job_rows   bigint NOT NULL DEFAULT 0,            -- in quota_job
    rows_left  bigint NOT NULL DEFAULT 0,            -- of these, when they were counted
    counted_at timestamptz,                          -- NULL: what waits is not known; it is looked for with the next job
    CONSTRAINT quota_use_whose CHECK (num_nonnulls(user_id, key_id) = 1)
) WITH (fillfactor = 50);
CREATE INDEX quota_use_user ON windlass.quota_use (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX quota_use_key ON windlass.quota_use (key_id) WHERE key_id IS NOT NULL;

-- Jobs of those who have a quota of bytes. The end of a job pays nothing for it: what has ended is taken out when a count
-- needs to know, and when there is as much of it as of the rest.
CREATE TABLE windlass.quota_job (
    subject uuid NOT NULL,
    job_id  uuid NOT NULL,
    PRIMARY KEY (subject, job_id)
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);

-- A foreign key would ask once for each job; what it would do is done here.
CREATE FUNCTION windlass.forget_quota_jobs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM windlass.quota_job q WHERE q.subject = OLD.subject;
    RETURN NULL;
END $$;
CREATE TRIGGER quota_use_forgotten AFTER DELETE ON windlass.quota_use
    FOR EACH ROW EXECUTE FUNCTION windlass.forget_quota_jobs();

-- How quickly a queue takes jobs. By GCRA: a batch that is larger than what may come at once waits for all of that, and those
-- after it as long as it would have taken one by one.
ALTER TABLE windlass.queue ADD COLUMN submit_rate double precision CHECK (submit_rate > 0); -- jobs a second; NULL: any number
ALTER TABLE windlass.queue ADD COLUMN submit_due_at timestamptz NOT NULL DEFAULT '-infinity'; -- when all so far would have come, one by one

-- How many jobs may come now: as RateLimit.room in model/job/target.py, with a second's worth at once.
CREATE FUNCTION windlass.submit_room(rate double precision, due_at timestamptz, at timestamptz) RETURNS double precision
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN ahead > greatest(0, 1 - 1 / rate) + 1e-9 THEN 0
                ELSE 1 + floor((greatest(0, 1 - 1 / rate) - ahead) * rate + 1e-6) END
    FROM (SELECT CASE WHEN due_at > at THEN extract(epoch FROM due_at - at)::double precision ELSE 0 END AS ahead) pace
$$;

-- For windlass.enqueue. A queue that has such a rate is looked at when the transaction commits, as one that has a limit, and
-- the note that is left for that counts the jobs.
ALTER TABLE windlass.enqueue_note ADD COLUMN jobs bigint NOT NULL DEFAULT 1;

CREATE OR REPLACE FUNCTION windlass.queue_rules(
    line_name text, OUT max_jobs bigint, OUT max_bytes bigint, OUT is_limited boolean, OUT is_known boolean, OUT usual_tries integer
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    line windlass.queue%ROWTYPE;
BEGIN
    SELECT i.queue_max_jobs, i.queue_max_bytes, i.retry_max_attempts INTO max_jobs, max_bytes, usual_tries FROM windlass.installation i;
    usual_tries := coalesce(usual_tries, 5);
    SELECT * INTO line FROM windlass.queue q WHERE q.name = line_name;
    is_known := FOUND;
    max_jobs := coalesce(line.max_jobs, max_jobs);
    max_bytes := coalesce(line.max_bytes, max_bytes);
    is_limited := max_jobs IS NOT NULL OR max_bytes IS NOT NULL OR line.submit_rate IS NOT NULL;
END $$;

CREATE OR REPLACE FUNCTION windlass.at_commit(noun text, name text, capacity integer DEFAULT NULL) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    INSERT INTO windlass.enqueue_note AS known (txid, noun, name, capacity) VALUES (pg_current_xact_id(), $1, $2, $3)
    ON CONFLICT ON CONSTRAINT enqueue_note_pkey DO UPDATE SET jobs = known.jobs + 1
    WHERE $1 = 'queue' AND EXISTS (SELECT FROM windlass.queue q WHERE q.name = $2 AND q.submit_rate IS NOT NULL)
$$;

-- Raises if a queue takes no more jobs at this moment.
CREATE FUNCTION windlass.refuse_too_quick(line_name text, more_jobs bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    line record;
BEGIN
    SELECT q.submit_rate AS rate, floor(greatest(1, q.submit_rate) + 1e-9) AS burst,
           windlass.submit_room(q.submit_rate, q.submit_due_at, clock_timestamp()) AS room
    INTO line FROM windlass.queue q WHERE q.name = line_name AND q.submit_rate IS NOT NULL;
    IF line.room < least(more_jobs, line.burst) THEN
        RAISE EXCEPTION 'windlass: queue_rate: queue % takes % jobs a second, has taken % of % and is asked for %', line_name, line.rate,
            line.burst - line.room, line.burst, more_jobs
            USING ERRCODE = 'configuration_limit_exceeded';
    END IF;
END $$;

-- The look at once asks for one more job; the one at the commit, under the queue's lock, for all of the transaction.
CREATE OR REPLACE FUNCTION windlass.refuse_beyond(line_name text, max_jobs bigint, max_bytes bigint, more_jobs bigint, more_bytes bigint)
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
    IF more_jobs > 0 THEN
        PERFORM windlass.refuse_too_quick(line_name, more_jobs);
    END IF;
END $$;

CREATE OR REPLACE FUNCTION windlass.see_to_notes() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    queues text[];
    counts bigint[];
    locks text[];
    capacities integer[];
    place integer;
    line record;
BEGIN
    WITH gone AS (DELETE FROM windlass.enqueue_note n WHERE n.txid = pg_current_xact_id() RETURNING n.noun, n.name, n.capacity, n.jobs)
    SELECT array_agg(g.name ORDER BY g.name) FILTER (WHERE g.noun = 'queue'),
           array_agg(g.jobs ORDER BY g.name) FILTER (WHERE g.noun = 'queue'),
           array_agg(g.name ORDER BY g.name) FILTER (WHERE g.noun = 'lock'),
           array_agg(g.capacity ORDER BY g.name) FILTER (WHERE g.noun = 'lock')
    INTO queues, counts, locks, capacities FROM gone g;
    INSERT INTO windlass.queue (name)
    SELECT n FROM unnest(queues) n WHERE NOT EXISTS (SELECT FROM windlass.queue q WHERE q.name = n) ORDER BY n
    ON CONFLICT DO NOTHING;
    FOR place IN 1 .. coalesce(cardinality(queues), 0) LOOP
        SELECT * INTO line FROM windlass.queue_rules(queues[place]);
        IF line.is_limited THEN
            PERFORM 1 FROM windlass.queue q WHERE q.name = queues[place] FOR UPDATE;
            -- By statements of their own: they see what whoever held it before has committed, its limits included.
            SELECT * INTO line FROM windlass.queue_rules(queues[place]);
            PERFORM windlass.refuse_beyond(queues[place], line.max_jobs, line.max_bytes, 0, 0);
            PERFORM windlass.refuse_too_quick(queues[place], counts[place]);
            UPDATE windlass.queue q
            SET submit_due_at = greatest(q.submit_due_at, clock_timestamp()) + counts[place] / q.submit_rate * interval '1 second'
            WHERE q.name = queues[place] AND q.submit_rate IS NOT NULL;
        END IF;
    END LOOP;
    INSERT INTO windlass.lock (name, capacity)
    SELECT g.name, g.capacity FROM unnest(locks, capacities) AS g(name, capacity)
    WHERE NOT EXISTS (SELECT FROM windlass.lock l WHERE l.name = g.name) ORDER BY g.name
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
