-- event_of_jobs: the event rows of jobs: all that is out of the ordinary.
-- params: job_id uuid[]     returns: job_id, at, seq, type, data
-- Index: event_job.
SELECT job_id, at, seq, type, data FROM windlass.event WHERE job_id = ANY ($1::uuid[]) ORDER BY job_id, at, seq
