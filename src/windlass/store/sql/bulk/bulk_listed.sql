-- bulk_listed: the next jobs of an operation's list of names.
-- params: bulk_id uuid, after uuid (NULL: from the beginning), most int4     returns: job_id
-- Index: bulk_job primary key.
SELECT job_id FROM windlass.bulk_job WHERE bulk_id = $1 AND job_id > coalesce($2::uuid, '00000000-0000-0000-0000-000000000000')
ORDER BY job_id LIMIT $3
