-- workflow_version_find: the versions that new executions are to run.
-- params: workflow text[], asked int4[] (0: the newest)     returns: workflow, asked, version, hash
-- Index: both primary keys. A workflow that was deleted is not found.
SELECT g.workflow, g.asked, v.version, v.hash
FROM unnest($1::text[], $2::int4[]) AS g(workflow, asked)
JOIN windlass.workflow w ON w.name = g.workflow AND w.deleted_at IS NULL
JOIN windlass.workflow_version v ON v.workflow = w.name AND v.version = CASE g.asked WHEN 0 THEN w.version ELSE g.asked END
