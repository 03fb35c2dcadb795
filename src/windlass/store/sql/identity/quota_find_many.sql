-- quota_find_many: note which unfinished jobs these users and keys have submitted, before what waits is counted for the first time.
-- params: subject uuid[]     returns: nothing
-- Reads every unfinished job: once, when somebody is given a quota of bytes. Jobs of executions and of schedules are nobody's,
-- though they have an owner. Indexes: quota_job primary key, firing_made.
WITH whose AS MATERIALIZED (
    SELECT id AS subject, 'user_' || replace(id::text, '-', '') AS owner FROM windlass.user_account WHERE id = ANY ($1::uuid[])
    UNION ALL
    SELECT id, 'key_' || replace(id::text, '-', '') FROM windlass.api_key WHERE id = ANY ($1::uuid[])
    UNION ALL
    SELECT user_id, 'key_' || replace(id::text, '-', '') FROM windlass.api_key WHERE user_id = ANY ($1::uuid[])
), fired AS MATERIALIZED (
    SELECT f.job_id
    FROM windlass.schedule s JOIN windlass.firing f ON f.schedule_id = s.id AND f.state IN ('fired', 'late')
    WHERE s.owner IN (SELECT owner FROM whose) AND f.job_id IS NOT NULL
)
INSERT INTO windlass.quota_job (subject, job_id)
SELECT whose.subject, j.id
FROM whose JOIN windlass.job j ON j.owner = whose.owner AND j.execution_id IS NULL
WHERE NOT EXISTS (SELECT FROM fired WHERE fired.job_id = j.id)
ON CONFLICT (subject, job_id) DO NOTHING
