-- execution_wish_many: what the jobs of executions are to do.
-- params: id uuid[]     returns: id, wish ('end', 'pause', 'go') of the unfinished ones     Index: primary key.
SELECT e.id, CASE WHEN e.cancel_requested_at IS NOT NULL OR e.doom IS NOT NULL THEN 'end'
                  WHEN e.paused_at IS NOT NULL THEN 'pause' ELSE 'go' END AS wish
FROM windlass.execution e WHERE e.id = ANY ($1::uuid[]) AND e.finished_at IS NULL
