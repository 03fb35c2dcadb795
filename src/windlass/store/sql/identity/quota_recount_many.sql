-- quota_recount_many: count what waits of these users and keys, and forget what has ended.
-- params: subject uuid[]     returns: subject, bytes, job_rows
-- Indexes: quota_job and job primary keys, that of jobs entered by one id after the other, never read whole. The caller holds their rows of quota_use, and this snapshot is newer than that.
WITH mine AS MATERIALIZED (
    SELECT q.subject, q.job_id, (SELECT j.input_bytes FROM windlass.job j WHERE j.id = q.job_id) AS input_bytes
    FROM windlass.quota_job q
    WHERE q.subject = ANY ($1::uuid[])
), ended AS (
    DELETE FROM windlass.quota_job q USING mine m
    WHERE m.input_bytes IS NULL AND q.subject = m.subject AND q.job_id = m.job_id
)
UPDATE windlass.quota_use u
SET bytes = found.bytes, job_rows = found.job_rows, rows_left = found.job_rows, counted_at = clock_timestamp()
FROM (
    SELECT s AS subject, coalesce(sum(m.input_bytes), 0)::int8 AS bytes, count(m.input_bytes) AS job_rows
    FROM unnest($1::uuid[]) s LEFT JOIN mine m ON m.subject = s GROUP BY s
) found
WHERE u.subject = found.subject
RETURNING u.subject, u.bytes, u.job_rows
