-- workflow_publish: add a version and make it the newest; a workflow that was deleted is there again.
-- params: name text, version int4, hash bytea, definition json text, by text     returns: created_at of the version
-- Index: both primary keys. The caller holds the row (workflow_lock), so the version is the next one.
WITH added AS (
    INSERT INTO windlass.workflow_version (workflow, version, hash, definition, published_by)
    VALUES ($1, $2, $3, $4::text::json, $5)
    RETURNING created_at
), newest AS (
    UPDATE windlass.workflow SET version = $2, changed_at = now(), deleted_at = NULL WHERE name = $1
), noted AS (
    INSERT INTO windlass.event (noun, subject, type, data)
    VALUES ('workflow', $1, 'published', json_build_object('version', $2::int4, 'by', $5::text))
)
SELECT created_at FROM added
