-- secret_unbind: forget the hosts of a secret: its next use binds it.
-- params: name text     returns: name; nothing when it was not bound
-- Index: primary key.
WITH freed AS (
    DELETE FROM windlass.secret_binding WHERE name = $1 RETURNING name
), noted AS (
    INSERT INTO windlass.event (noun, subject, type, data)
    SELECT 'secret', name, 'unbound', '{}'::json FROM freed
    WHERE EXISTS (SELECT FROM windlass.secret WHERE secret.name = freed.name)
)
SELECT name FROM freed
