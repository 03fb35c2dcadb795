-- workflow_version_list: the versions of a workflow, newest first, without their definitions.
-- params: workflow text, before int4 (those below it), most int4
-- returns: version, hash, published_by, created_at
-- Index: workflow_version primary key, backwards. Those of a deleted workflow can be read.
SELECT version, hash, published_by, created_at
FROM windlass.workflow_version
WHERE workflow = $1 AND version < $2
ORDER BY version DESC LIMIT $3
