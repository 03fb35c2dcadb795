-- bulk_hold_finished: bulk_hold_unfinished for jobs that have ended.
-- params: id uuid[], then those of the conditions     returns: id, execution_id
-- Index: job_history primary key.
SELECT id, execution_id FROM windlass.job_history WHERE id = ANY ($1::uuid[]) AND {where} ORDER BY id FOR UPDATE SKIP LOCKED
