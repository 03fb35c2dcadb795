-- lock_held_by_job: the job that holds a lock by this token.
-- params: name text, token int8     returns: job_id; nothing: it is a caller's hold, or none
-- Index: lock_hold primary key.
SELECT h.job_id FROM windlass.lock_hold h WHERE h.lock = $1 AND h.token = $2 AND h.job_id IS NOT NULL
