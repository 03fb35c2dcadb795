-- bulk_match_finished: bulk_match_unfinished for jobs that have ended.
-- params: id uuid[], then those of the conditions     returns: id
-- Index: job_history primary key.
SELECT id FROM windlass.job_history WHERE id = ANY ($1::uuid[]) AND {where}
