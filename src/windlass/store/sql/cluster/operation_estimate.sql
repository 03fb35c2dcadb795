-- operation_estimate: what a change of nodes would have to wait for.
-- params: node_id uuid[]
-- returns: id, workers, in_flight (attempts it holds now), took_seconds (nine of ten attempts that ended there in the last
-- minute took no longer; NULL: none ended)
-- Index: node primary key, job_held, BRIN of job_history on finished_at.
SELECT n.id, n.workers,
       (SELECT count(*) FROM windlass.job j WHERE j.node_id = n.id AND j.state = 'running' AND j.callback_until IS NULL)::int4
           AS in_flight,
       (SELECT percentile_cont(0.9) WITHIN GROUP (ORDER BY lately.took)
        FROM (SELECT extract(epoch FROM h.finished_at - h.started_at)::float8 AS took FROM windlass.job_history h
              WHERE h.finished_at > now() - interval '1 minute' AND h.node_id = n.id AND h.started_at IS NOT NULL
              LIMIT 1000) lately) AS took_seconds
FROM windlass.node n
WHERE n.id = ANY ($1::uuid[])
