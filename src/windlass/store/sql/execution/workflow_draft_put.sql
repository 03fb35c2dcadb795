-- workflow_draft_put: keep what is being drawn. A new name is made, with no version yet.
-- params: name text, draft json text     returns: draft, version, changed_at
-- Index: workflow primary key.
INSERT INTO windlass.workflow (name, version, draft) VALUES ($1, 0, $2::text::json)
ON CONFLICT (name) DO UPDATE SET draft = $2::text::json, changed_at = now()
RETURNING draft, version, changed_at
