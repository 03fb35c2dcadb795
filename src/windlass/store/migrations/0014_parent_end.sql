-- 0014_parent_end: parents that have ended and not all of whose children have been told.
-- A parent may have half a million children. Its end tells as many as fit into one transaction; the row here stands for the
-- others, and comes in that same transaction. Whoever tells more holds the row; it goes with the last of them.
CREATE TABLE windlass.parent_end (
    parent_id uuid PRIMARY KEY,
    state     text NOT NULL,                             -- how it ended
    ended_at  timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX parent_end_oldest ON windlass.parent_end (ended_at);
COMMENT ON COLUMN windlass.dependency.parent_id IS 'has not ended, or is in parent_end: the row goes when the child is told';
