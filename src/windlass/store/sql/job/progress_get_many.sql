-- progress_get_many: how far these jobs said that they are; one that said nothing has no row.
-- params: job_id uuid[]     returns: job_id, at, done, total, attempt, message
-- Index: the primary key.
SELECT job_id, at, done, total, attempt, message FROM windlass.job_progress WHERE job_id = ANY ($1::uuid[])
