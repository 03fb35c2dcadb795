-- 0011_execution_tree: the tree of executions below one that somebody started.
-- Children begin children, so that a definition may fork without end. Whoever begins one asks those above it whether they still
-- want it, and adds to a count of the whole tree, which is bounded (engine/tree.py).

-- The one at the top. NULL: it is the top itself, or was begun by a node that did not know of trees.
ALTER TABLE windlass.execution ADD COLUMN root_id uuid;

-- How many were born below a root: a sum of a few rows, so that births on many nodes do not wait for one.
CREATE TABLE windlass.execution_tree (
    root_id uuid NOT NULL REFERENCES windlass.execution (id) ON DELETE CASCADE,
    slot    smallint NOT NULL CHECK (slot BETWEEN 0 AND 15),
    born    bigint NOT NULL CHECK (born >= 0),
    PRIMARY KEY (root_id, slot)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
