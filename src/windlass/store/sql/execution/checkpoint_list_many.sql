-- checkpoint_list_many: all that durable functions have done so far.
-- params: job_id uuid[]     returns: whole rows, and left float8 as checkpoint_keep_many; in order of their places
-- Index: checkpoint primary key.
SELECT c.job_id, c.branch, c.place, c.name, c.kind, c.is_open, c.result,
       extract(epoch FROM c.until - clock_timestamp())::float8 AS left
FROM windlass.checkpoint c WHERE c.job_id = ANY ($1::uuid[])
ORDER BY c.job_id, c.branch, c.place
