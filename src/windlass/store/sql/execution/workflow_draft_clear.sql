-- workflow_draft_clear: what was being drawn has been published.
-- params: name text     returns: name
-- Index: workflow primary key. The caller holds the row (workflow_lock).
UPDATE windlass.workflow SET draft = NULL, changed_at = now() WHERE name = $1 RETURNING name
