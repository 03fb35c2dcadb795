-- job_expired: jobs whose deadline passed before they started, locked.
-- params: most int4     returns: id
-- Index: job_deadline.
SELECT id FROM windlass.job
WHERE state IN ('queued', 'blocked') AND deadline IS NOT NULL AND deadline <= now()
ORDER BY deadline LIMIT $1
FOR UPDATE SKIP LOCKED
