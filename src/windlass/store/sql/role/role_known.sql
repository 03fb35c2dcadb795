-- role_known: to whom rights were given that is there still.
-- params: none     returns: name, kind
SELECT g.name, g.kind FROM windlass.role_grant g JOIN pg_roles r ON r.rolname = g.name ORDER BY g.name
