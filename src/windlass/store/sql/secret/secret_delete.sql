-- secret_delete: forget all versions of a name, and where it may go.
-- params: name text     returns: name; nothing when there is no such secret
-- Index: primary key.
WITH gone AS (
    DELETE FROM windlass.secret WHERE name = $1 RETURNING name, version, overlap_until
), freed AS (
    DELETE FROM windlass.secret_binding WHERE name = $1
), noted AS (
    INSERT INTO windlass.event (noun, subject, type, data)
    SELECT 'secret', name, 'deleted', json_build_object('version', version) FROM gone WHERE overlap_until IS NULL
)
SELECT name FROM gone WHERE overlap_until IS NULL
