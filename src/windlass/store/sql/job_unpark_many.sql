-- job_unpark_many: let parked jobs go, so many of each target, the highest priority and the longest waiting first.
-- params: target text[], count int4[], has_pass bool[]     returns: id, target, queue, priority, run_at
-- The caller holds the targets' rows (target_lock_many): what it counted is still so.
-- Index: job_parked_line, read from its start, as many rows as go.
WITH picked AS MATERIALIZED (
    SELECT first.id, room.has_pass
    FROM unnest($1::text[], $2::int4[], $3::bool[]) AS room(target, count, has_pass)
    CROSS JOIN LATERAL (
        SELECT j.id FROM windlass.job j
        WHERE j.target = room.target AND j.parked_at IS NOT NULL AND j.parked_for NOT IN ('paused', 'lock')
        ORDER BY j.target, j.priority DESC, j.run_at
        LIMIT room.count
        FOR UPDATE SKIP LOCKED
    ) first
)
UPDATE windlass.job j
SET parked_at = NULL, parked_for = NULL, has_pass = picked.has_pass
FROM picked WHERE j.id = picked.id
RETURNING j.id, j.target, j.queue, j.priority, j.run_at
