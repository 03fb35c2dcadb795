-- job_expired: jobs whose deadline passed before they started, or before they started again, locked.
-- params: most int4, id uuid[] (only these; NULL: all)
-- returns: id, attempt (0: it never started), has_failed (it keeps the error of its last attempt)
-- Index: job_deadline.
SELECT id, attempt, error IS NOT NULL AS has_failed FROM windlass.job
WHERE state IN ('queued', 'blocked') AND deadline IS NOT NULL AND deadline <= now()
  AND ($2::uuid[] IS NULL OR id = ANY ($2))
ORDER BY deadline LIMIT $1
FOR UPDATE SKIP LOCKED
