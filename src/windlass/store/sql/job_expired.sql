-- job_expired: jobs whose deadline passed before they started, locked.
-- params: most int4, id uuid[] (only these; NULL: all)     returns: id
-- Index: job_deadline.
SELECT id FROM windlass.job
WHERE state IN ('queued', 'blocked') AND deadline IS NOT NULL AND deadline <= now()
  AND ($2::uuid[] IS NULL OR id = ANY ($2))
ORDER BY deadline LIMIT $1
FOR UPDATE SKIP LOCKED
