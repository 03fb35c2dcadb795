-- 0015_schedule_past: when a schedule was paused, and by which rules it went before.

-- Begin and end of each pause that has ended, in turn, of those within which an undecided instant may lie. NULL: none since
-- this column is there; then `resumed_at` alone says until when it was paused.
ALTER TABLE windlass.schedule ADD COLUMN pauses timestamptz[];

-- The rules a schedule had before it was changed, so that its ledger can be compared with them.
CREATE TABLE windlass.schedule_former (
    schedule_id uuid NOT NULL REFERENCES windlass.schedule ON DELETE CASCADE,
    until       timestamptz NOT NULL,                     -- when it was changed: what was due by then is in the ledger
    since       timestamptz NOT NULL,                     -- when it had been put
    rule        json NOT NULL,
    PRIMARY KEY (schedule_id, until)
);

-- Rows that stand for instants before them: there are few.
CREATE INDEX firing_standing ON windlass.firing (schedule_id, instant) WHERE stands_for > 1;
