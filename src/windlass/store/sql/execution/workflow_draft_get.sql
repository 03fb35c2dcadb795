-- workflow_draft_get: what is being drawn.
-- params: name text     returns: draft (json text), version, changed_at; no row: nothing is
-- Index: workflow primary key. A workflow that is deleted may be drawn again; publishing brings it back.
SELECT draft, version, changed_at FROM windlass.workflow WHERE name = $1 AND draft IS NOT NULL
