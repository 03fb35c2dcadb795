-- definition_get_many: published definitions.
-- params: workflow text[], version int4[]     returns: workflow, version, hash, definition
-- Index: workflow_version primary key.
SELECT v.workflow, v.version, v.hash, v.definition
FROM unnest($1::text[], $2::int4[]) AS g(workflow, version)
JOIN windlass.workflow_version v USING (workflow, version)
