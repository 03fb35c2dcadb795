-- workflow_revive: take new executions again, of the version that was the newest when it was deleted.
-- params: name text     returns: name
-- Index: workflow primary key. The caller holds the row (workflow_lock).
WITH revived AS (
    UPDATE windlass.workflow SET deleted_at = NULL, changed_at = now()
    WHERE name = $1 AND deleted_at IS NOT NULL
    RETURNING name
), noted AS (
    INSERT INTO windlass.event (noun, subject, type, data) SELECT 'workflow', name, 'revived', '{}' FROM revived
)
SELECT name FROM revived
