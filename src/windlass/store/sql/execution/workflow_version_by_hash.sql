-- workflow_version_by_hash: the newest version that has this definition.
-- params: workflow text, hash bytea     returns: version, created_at
-- Index: workflow_version primary key. Asked only when a publication is repeated; a workflow has few versions.
SELECT version, created_at FROM windlass.workflow_version
WHERE workflow = $1 AND hash = $2
ORDER BY version DESC LIMIT 1
