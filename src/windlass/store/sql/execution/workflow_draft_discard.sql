-- workflow_draft_discard: throw away what is being drawn; a workflow that never was more than a draft goes with it.
-- params: name text     returns: name, or no row if there is no draft
-- Index: workflow primary key. The two branches exclude each other, so the row is touched once.
WITH emptied AS (
    UPDATE windlass.workflow SET draft = NULL, changed_at = now()
    WHERE name = $1 AND draft IS NOT NULL AND version > 0
    RETURNING name
), gone AS (
    DELETE FROM windlass.workflow WHERE name = $1 AND draft IS NOT NULL AND version = 0
    RETURNING name
)
SELECT name FROM emptied UNION ALL SELECT name FROM gone
