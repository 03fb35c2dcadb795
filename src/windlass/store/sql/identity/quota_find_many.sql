-- quota_find_many: note which unfinished jobs these users and keys have submitted, before what waits is counted for the first time.
-- params: subject uuid[]     returns: nothing
-- Reads every unfinished job: once, when somebody is given a quota of bytes. Index: quota_job primary key.
INSERT INTO windlass.quota_job (subject, job_id)
SELECT whose.subject, j.id
FROM (
    SELECT id AS subject, 'user_' || replace(id::text, '-', '') AS owner FROM windlass.user_account WHERE id = ANY ($1::uuid[])
    UNION ALL
    SELECT id, 'key_' || replace(id::text, '-', '') FROM windlass.api_key WHERE id = ANY ($1::uuid[])
    UNION ALL
    SELECT user_id, 'key_' || replace(id::text, '-', '') FROM windlass.api_key WHERE user_id = ANY ($1::uuid[])
) whose
JOIN windlass.job j ON j.owner = whose.owner AND j.execution_id IS NULL
ON CONFLICT (subject, job_id) DO NOTHING
