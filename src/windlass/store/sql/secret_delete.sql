-- secret_delete: forget all versions of a name.
-- params: name text     returns: name; nothing when there is no such secret
-- Index: primary key.
WITH gone AS (
    DELETE FROM windlass.secret WHERE name = $1 RETURNING name, version, overlap_until
), noted AS (
    INSERT INTO windlass.event (noun, subject, type, data)
    SELECT 'secret', name, 'deleted', json_build_object('version', version) FROM gone WHERE overlap_until IS NULL
)
SELECT name FROM gone WHERE overlap_until IS NULL
