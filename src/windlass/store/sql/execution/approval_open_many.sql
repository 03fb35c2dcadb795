-- approval_open_many: ask people for decisions; a step that has asked already is left alone.
-- params: id uuid[], job_id uuid[], execution_id uuid[], step text[], title text[], form text[], until timestamptz[]
INSERT INTO windlass.approval (id, job_id, execution_id, step, title, form, until)
SELECT g.id, g.job_id, g.execution_id, g.step, g.title, g.form::json, g.until
FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::timestamptz[])
    AS g(id, job_id, execution_id, step, title, form, until)
ON CONFLICT (job_id) DO NOTHING
