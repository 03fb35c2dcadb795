-- execution_unheard_find: executions some of whose jobs have not heard what was asked, or of which it need not be asked any more.
-- params: most int4, resting uuid[] (that failed just now, and are left alone)     returns: id
-- Index: execution_unheard, job_step. There are few, and each for a minute or so; the conditions are those of
-- step_unheard_get_many, step_park_many and step_unpark_many.
SELECT e.id FROM windlass.execution e
WHERE e.unheard_until IS NOT NULL AND e.id <> ALL ($2::uuid[]) AND (e.unheard_until <= clock_timestamp() OR EXISTS (
    SELECT FROM windlass.job j
    WHERE j.execution_id = e.id AND CASE
        WHEN e.cancel_requested_at IS NOT NULL THEN j.cancel_requested_at IS NULL
        WHEN e.doom IS NOT NULL THEN j.cancel_requested_at IS NULL AND j.step NOT LIKE '%~undo'
        WHEN e.paused_at IS NOT NULL THEN j.state = 'queued' AND (j.parked_for IS NULL OR j.parked_for NOT IN ('paused', 'lock'))
        ELSE j.parked_for = 'paused'
    END))
ORDER BY e.unheard_until LIMIT $1
