-- checkpoint_get_many: what stands at some places of durable functions.
-- params: job_id uuid[], branch text[], place int4[]     returns: whole rows, and left float8 as checkpoint_keep_many
-- Index: checkpoint primary key.
SELECT c.job_id, c.branch, c.place, c.name, c.kind, c.is_open, c.result,
       extract(epoch FROM c.until - clock_timestamp())::float8 AS left
FROM unnest($1::uuid[], $2::text[], $3::int4[]) AS g(job_id, branch, place)
JOIN windlass.checkpoint c ON c.job_id = g.job_id AND c.branch = g.branch AND c.place = g.place
