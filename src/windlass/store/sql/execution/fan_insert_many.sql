-- fan_insert_many: begin fan-outs, none of their items being there yet.
-- params: execution_id uuid[], step text[], job_id uuid[], total int4[], parallel int4[], failures_max int4[]
-- Index: primary key. A rerun has removed the row of before.
INSERT INTO windlass.fan (execution_id, step, job_id, total, parallel, failures_max)
SELECT g.execution_id, g.step, g.job_id, g.total, g.parallel, g.failures_max
FROM unnest($1::uuid[], $2::text[], $3::uuid[], $4::int4[], $5::int4[], $6::int4[])
    AS g(execution_id, step, job_id, total, parallel, failures_max)
CROSS JOIN LATERAL (SELECT FROM windlass.job j WHERE j.id = g.job_id OFFSET 0) known
