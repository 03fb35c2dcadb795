-- workflow_version_get: one version, definition included.
-- params: workflow text, version int4 (NULL: the newest)
-- returns: workflow, version, hash, definition, published_by, created_at
-- Index: workflow_version primary key. Those of a deleted workflow can be read.
SELECT workflow, version, hash, definition, published_by, created_at
FROM windlass.workflow_version
WHERE workflow = $1 AND ($2::int4 IS NULL OR version = $2)
ORDER BY version DESC LIMIT 1
