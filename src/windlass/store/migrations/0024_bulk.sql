-- 0024_bulk: one verb on many jobs, by a filter, as an operation that any node goes on with.

-- Whoever works on one holds its row for the length of a batch, and what the batch did, its cursor and its counts commit
-- together: so a batch is done once, and a node that dies in the middle of one has done nothing of it.
CREATE TABLE windlass.bulk (
    id         uuid PRIMARY KEY,
    verb       text NOT NULL CHECK (verb IN ('cancel', 'promote', 'retry', 'delete', 'replay', 'discard')),
    filter     json NOT NULL,                         -- {"queue": "mail", …}
    named      integer,                               -- asked for by so many ids; NULL: by the filter
    matching   bigint NOT NULL,                       -- when it was asked
    is_exact   boolean NOT NULL,                      -- false: at least so many
    most       bigint CHECK (most > 0),               -- NULL: as many as there are
    rate       double precision CHECK (rate > 0),     -- jobs a second; NULL: as fast as it goes
    phase      text NOT NULL DEFAULT 'pending' CHECK (phase IN ('pending', 'working', 'done', 'aborted')),
    round      integer NOT NULL DEFAULT 0,            -- 0: through what matches; else the so many-th time through bulk_job
    cursor     uuid,                                  -- the last job that it came to in this round; NULL: none
    looked     bigint NOT NULL DEFAULT 0,
    done       bigint NOT NULL DEFAULT 0,
    refused    bigint NOT NULL DEFAULT 0,
    gone       bigint NOT NULL DEFAULT 0,             -- somebody else was first
    held       bigint NOT NULL DEFAULT 0,             -- of bulk_job: somebody else held them
    left_jobs  json NOT NULL DEFAULT '[]',            -- of those refused the first: [{"id": "job_…", "reason": "…"}]
    reason     text,                                  -- why it ended before it had come to all
    asked_by   text,
    asked_at   timestamptz NOT NULL DEFAULT clock_timestamp(), -- what came to match later is left alone
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    next_at    timestamptz NOT NULL DEFAULT clock_timestamp(), -- when its next batch is due, by its rate
    ended_at   timestamptz,
    CONSTRAINT bulk_ended CHECK ((phase IN ('done', 'aborted')) = (ended_at IS NOT NULL))
) WITH (fillfactor = 50);
CREATE INDEX bulk_open ON windlass.bulk (next_at) WHERE ended_at IS NULL;
CREATE INDEX bulk_ended_at ON windlass.bulk (ended_at) WHERE ended_at IS NOT NULL;

-- Jobs that one has to come to by name: those that it was asked for by id, and those that somebody held.
CREATE TABLE windlass.bulk_job (
    bulk_id uuid NOT NULL REFERENCES windlass.bulk (id) ON DELETE CASCADE,
    job_id  uuid NOT NULL,
    PRIMARY KEY (bulk_id, job_id)
);
