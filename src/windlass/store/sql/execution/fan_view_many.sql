-- fan_view_many: how far the fan-outs of an execution are, for its graph.
-- params: execution_id uuid, since timestamptz (when it was created), step text[] (its fan-outs that have begun)
-- returns: step, total, expanded, succeeded, failed
-- Index: fan primary key, fan_delta_of; job_history_step. A fan-out under way is a row with its sums; of one that has ended
-- only its items are left, and they are counted.
SELECT g.step, coalesce(f.total, ended.items)::int4 AS total, coalesce(f.expanded, ended.items)::int4 AS expanded,
       coalesce(CASE WHEN f.step IS NULL THEN ended.succeeded ELSE sums.succeeded END, 0)::int4 AS succeeded,
       coalesce(CASE WHEN f.step IS NULL THEN ended.items - ended.succeeded ELSE sums.failed END, 0)::int4 AS failed
FROM unnest($3::text[]) AS g(step)
LEFT JOIN windlass.fan f ON f.execution_id = $1 AND f.step = g.step
LEFT JOIN LATERAL (
    SELECT sum(d.succeeded) AS succeeded, sum(d.failed) AS failed FROM windlass.fan_delta d
    WHERE d.execution_id = f.execution_id AND d.step = f.step
) sums ON f.step IS NOT NULL
LEFT JOIN LATERAL (
    SELECT count(*) AS items, count(*) FILTER (WHERE h.state = 'succeeded') AS succeeded FROM windlass.job_history h
    WHERE h.execution_id = $1 AND h.step = g.step AND h.item IS NOT NULL AND h.finished_at >= $2::timestamptz - interval '1 hour'
) ended ON f.step IS NULL
