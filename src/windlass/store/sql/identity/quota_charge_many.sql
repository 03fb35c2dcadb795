-- quota_charge_many: charge what was admitted, in the transaction that admits it.
-- params: subject uuid[], day date[], jobs int8[], bytes int8[], job_rows int8[], job_subject uuid[], job_id uuid[]
-- returns: nothing
-- Index: quota_use primary key; the caller holds the rows, and `day` is what it was told with them. The last two are one row
-- for each job of those who have a quota of bytes.
WITH noted AS (
    INSERT INTO windlass.quota_job (subject, job_id) SELECT * FROM unnest($6::uuid[], $7::uuid[])
)
UPDATE windlass.quota_use u
SET day = c.day, jobs = CASE WHEN u.day = c.day THEN u.jobs ELSE 0 END + c.jobs,
    bytes = u.bytes + c.bytes, job_rows = u.job_rows + c.job_rows
FROM unnest($1::uuid[], $2::date[], $3::int8[], $4::int8[], $5::int8[]) AS c(subject, day, jobs, bytes, job_rows)
WHERE u.subject = c.subject
