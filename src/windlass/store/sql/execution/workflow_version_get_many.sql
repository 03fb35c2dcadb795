-- workflow_version_get_many: versions by name and number, definitions included.
-- params: workflow text[], version int4[]     returns: workflow, version, hash, definition, published_by, created_at
-- Index: workflow_version primary key. Those of a deleted workflow can be read.
SELECT v.workflow, v.version, v.hash, v.definition, v.published_by, v.created_at
FROM unnest($1::text[], $2::int4[]) AS g(workflow, version)
JOIN windlass.workflow_version v USING (workflow, version)
