-- workflow_get: one workflow with a definition.
-- params: name text, version int4 (NULL: the newest)
-- returns: name, version (0: none is published), hash, definition, description, published_by, created_at, changed_at, published_at, has_draft
-- Index: both primary keys. One that is deleted is not found.
SELECT w.name, coalesce(v.version, w.version) AS version, v.hash, v.definition, v.definition ->> 'description' AS description,
       v.published_by, w.created_at, w.changed_at, v.created_at AS published_at, w.draft IS NOT NULL AS has_draft
FROM windlass.workflow w
LEFT JOIN windlass.workflow_version v ON v.workflow = w.name AND v.version = coalesce($2::int4, w.version)
WHERE w.name = $1 AND w.deleted_at IS NULL
