-- fan_tally_many: how far fan-outs are.
-- params: execution_id uuid[], step text[]
-- returns: the rows of fan, and the sums `succeeded` and `failed` of their ended items
-- Index: fan primary key, fan_delta_of. Asked again under the row's lock before anything is decided for good.
SELECT f.execution_id, f.step, f.job_id, f.total, f.expanded, f.parallel, f.failures_max, f.is_stopped,
       coalesce(d.succeeded, 0)::int AS succeeded, coalesce(d.failed, 0)::int AS failed
FROM unnest($1::uuid[], $2::text[]) AS g(execution_id, step)
JOIN windlass.fan f ON f.execution_id = ANY (ARRAY[g.execution_id]) AND f.step = g.step
CROSS JOIN LATERAL (
    SELECT sum(x.succeeded) AS succeeded, sum(x.failed) AS failed
    FROM windlass.fan_delta x WHERE x.execution_id = f.execution_id AND x.step = f.step
) d
