-- workflow_delete: take no new executions. Its versions stay: executions that run go on, and history can be read.
-- params: name text     returns: name, or no row if there is none
-- Index: workflow primary key.
WITH deleted AS (
    UPDATE windlass.workflow SET deleted_at = now(), changed_at = now(), draft = NULL
    WHERE name = $1 AND deleted_at IS NULL
    RETURNING name
), noted AS (
    INSERT INTO windlass.event (noun, subject, type, data) SELECT 'workflow', name, 'deleted', '{}' FROM deleted
)
SELECT name FROM deleted
