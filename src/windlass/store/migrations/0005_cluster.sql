-- 0005_cluster: who leads, what is being changed about nodes, and what nodes tell each other.

-- What a node says of itself with every beat, and what its operator has asked of it.
ALTER TABLE windlass.node
    ADD COLUMN memory_bytes bigint,                        -- NULL: not said yet
    ADD COLUMN cpu_percent  double precision,              -- of one core, since the last beat
    ADD COLUMN is_paused    boolean NOT NULL DEFAULT false, -- it claims nothing until it is resumed
    ADD COLUMN paused_at    timestamptz;

-- One row. Whoever holds its lease leads; the term is the fence of what a leader does.
CREATE TABLE windlass.leader (
    is_row      boolean PRIMARY KEY DEFAULT true CHECK (is_row),
    term        bigint NOT NULL DEFAULT 0,
    node_id     uuid,                                      -- NULL: nobody has led yet
    elected_at  timestamptz,
    lease_until timestamptz NOT NULL DEFAULT '-infinity'
);
INSERT INTO windlass.leader DEFAULT VALUES;

-- A change of a node that takes time. Its phase is written before each step, so that whoever reads
-- it after a crash knows what had been done; a node's death ends its operations as rolled back.
CREATE TABLE windlass.operation (
    id              uuid PRIMARY KEY,
    kind            text NOT NULL CHECK (kind IN ('resize', 'pause', 'resume', 'drain')),
    node_id         uuid NOT NULL,
    parent_id       uuid,                                  -- of a change of the whole cluster; NULL: of one node
    phase           text NOT NULL DEFAULT 'pending' CHECK (phase IN
        ('pending', 'pausing', 'draining', 'shrinking', 'applying', 'resuming', 'done', 'rolled_back')),
    from_workers    integer,
    to_workers      integer CHECK (to_workers BETWEEN 0 AND 10000),
    drain_seconds   double precision NOT NULL,
    on_timeout      text NOT NULL DEFAULT 'hand_back' CHECK (on_timeout IN ('hand_back', 'finish')),
    progress        json NOT NULL DEFAULT '{}',            -- {"in_flight": 3, "handed_back": 0, …}
    reason          text,                                  -- why it was rolled back
    asked_by        text,
    is_abort_asked  boolean NOT NULL DEFAULT false,
    created_at      timestamptz NOT NULL DEFAULT now(),
    changed_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    ended_at        timestamptz,
    CONSTRAINT operation_ended CHECK ((phase IN ('done', 'rolled_back')) = (ended_at IS NOT NULL))
);
-- One change of a node at a time.
CREATE UNIQUE INDEX operation_open ON windlass.operation (node_id) WHERE ended_at IS NULL;
CREATE INDEX operation_parent ON windlass.operation (parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX operation_ended_at ON windlass.operation (ended_at) WHERE ended_at IS NOT NULL;

-- Signals, for when Redis cannot carry them: written first, read by their targets, acknowledged once.
CREATE TABLE windlass.signal (
    id         uuid PRIMARY KEY,
    name       text NOT NULL CHECK (length(name) BETWEEN 1 AND 128),
    payload    json NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT now(),
    until      timestamptz NOT NULL                        -- nobody needs it after that
);
CREATE TABLE windlass.signal_target (
    node_id   uuid NOT NULL,
    signal_id uuid NOT NULL REFERENCES windlass.signal (id) ON DELETE CASCADE,
    acked_at  timestamptz,                                 -- NULL: not yet
    answer    json,
    PRIMARY KEY (node_id, signal_id)
);
CREATE INDEX signal_target_signal ON windlass.signal_target (signal_id);
CREATE INDEX signal_until ON windlass.signal (until);

-- Wait for the leader's seat, an advisory lock that a leader holds for as long as its session lives:
-- when its process dies the server closes the session, and whoever waits here is seated at once.
--   'seated'   the caller's session holds the lock
--   'led'      somebody leads; ask again
--   'evicted'  the lock's holder let the lease lapse (frozen, or cut off), and its session was ended
-- The wait is bounded: a waiting statement keeps vacuum from removing what others delete meanwhile.
-- In a function because a lock timeout that is caught here leaves no error in the server's log.
CREATE FUNCTION windlass.leader_wait() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    seat CONSTANT bigint := 6289644409843958084;  -- any number that is ours alone
    most_ms integer;
BEGIN
    -- A moment longer than the lease: who was seated just now has to write that it leads.
    SELECT 300 + least(10000, ceil(1000 * extract(epoch FROM greatest(lease_until, clock_timestamp()) - clock_timestamp())))
    INTO most_ms FROM windlass.leader;
    PERFORM set_config('lock_timeout', most_ms::text, true);
    BEGIN
        PERFORM pg_advisory_lock(seat);
        RETURN 'seated';
    EXCEPTION WHEN lock_not_available THEN
        NULL;
    END;
    PERFORM pg_terminate_backend(l.pid)
    FROM pg_locks l, windlass.leader
    WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
      AND (l.classid::bigint << 32) | l.objid::bigint = seat
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND leader.lease_until <= clock_timestamp();
    RETURN CASE WHEN FOUND THEN 'evicted' ELSE 'led' END;
END $$;
