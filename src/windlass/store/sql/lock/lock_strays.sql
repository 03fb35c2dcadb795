-- lock_strays: holds and waiters whose job is over, and jobs that wait for locks and are in no wait list.
-- params: most int4 of each     returns: problem (`held`, `in_line`, `in_no_line`), lock, job_id
-- Index: lock_hold_job, lock_wait primary key and job_parked_for_lock, each read whole, with the job's primary key beside. One
-- snapshot: a job ends and leaves its locks in one commit, so what is found here is nobody's doing but a defect's, or that of a
-- node of an earlier version, which knows nothing of locks.
(SELECT 'held' AS problem, h.lock, h.job_id FROM windlass.lock_hold h
 WHERE h.job_id IS NOT NULL AND NOT EXISTS (SELECT FROM windlass.job j WHERE j.id = h.job_id) LIMIT $1)
UNION ALL
(SELECT 'in_line', w.lock, w.waiter FROM windlass.lock_wait w
 WHERE w.until IS NULL AND NOT EXISTS (SELECT FROM windlass.job j WHERE j.id = w.waiter AND j.parked_for IS NOT NULL) LIMIT $1)
UNION ALL
(SELECT 'in_no_line', NULL, j.id FROM windlass.job j
 WHERE j.parked_for = 'lock' AND NOT EXISTS (SELECT FROM windlass.lock_wait w WHERE w.waiter = j.id) LIMIT $1)
