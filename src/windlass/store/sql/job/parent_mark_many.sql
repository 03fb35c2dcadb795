-- parent_mark_many: lock unfinished parents and note that they have children.
-- params: id uuid[]     returns: id of every unfinished one
-- Index: job primary key. The lock makes a parent that is ending right now wait, or be found in the history by
-- parent_ended_many; ordered against deadlocks. Setting the note again costs a row version, so it is set once.
WITH held AS MATERIALIZED (
    SELECT id, has_children FROM windlass.job WHERE id = ANY ($1::uuid[]) ORDER BY id FOR UPDATE
), noted AS (
    UPDATE windlass.job j SET has_children = true FROM held WHERE j.id = ANY (ARRAY[held.id]) AND NOT held.has_children
)
SELECT id FROM held
