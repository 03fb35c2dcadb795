-- execution_ancestry: an execution and those above it, as far as a step of each still waits for the one below.
-- params: id uuid, most int4     returns: id, root_id, over (why it begins nothing more; NULL: it goes on), the nearest first
-- Index: primary keys of execution and job; two rows a level, and there are few levels (CHILD_DEPTH_MAX). Nothing is locked: one
-- that is asked to cancel just now ends the step below it, and with it whatever was born meanwhile (engine/jobs/end.py).
WITH RECURSIVE up AS (
    SELECT e.id, e.root_id, e.parent_job_id, e.cancel_requested_at, e.doom, e.finished_at, 0 AS level
    FROM windlass.execution e WHERE e.id = $1
    UNION ALL
    SELECT e.id, e.root_id, e.parent_job_id, e.cancel_requested_at, e.doom, e.finished_at, up.level + 1
    FROM up
    CROSS JOIN LATERAL (SELECT j.execution_id FROM windlass.job j WHERE j.id = up.parent_job_id OFFSET 0) j
    CROSS JOIN LATERAL (SELECT * FROM windlass.execution e WHERE e.id = j.execution_id OFFSET 0) e
    WHERE up.level < $2::int4
)
SELECT id, root_id, CASE
        WHEN cancel_requested_at IS NOT NULL THEN 'was asked to cancel'
        WHEN doom IS NOT NULL THEN 'is given up'
        WHEN finished_at IS NOT NULL THEN 'has ended'
    END AS over
FROM up ORDER BY level
