-- workflow_list: workflows by name after a name, without their definitions; those that are deleted are left out.
-- params: after text, most int4
-- returns: name, version (0: none is published), hash, description, published_by, created_at, changed_at, published_at, has_draft
-- Index: workflow primary key, workflow_version primary key. Of a definition only its description is looked up, for a page of rows.
SELECT w.name, w.version, v.hash, v.definition ->> 'description' AS description, v.published_by,
       w.created_at, w.changed_at, v.created_at AS published_at, w.draft IS NOT NULL AS has_draft
FROM windlass.workflow w
LEFT JOIN windlass.workflow_version v ON v.workflow = w.name AND v.version = w.version
WHERE w.deleted_at IS NULL AND w.name > $1
ORDER BY w.name LIMIT $2
