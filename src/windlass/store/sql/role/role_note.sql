-- role_note: what must be said to note that a role has the rights of its kind, so that it gets those to what later migrations bring.
-- params: name text, kind text (NULL: it has none any more)     returns: said (no row: it is noted so)
-- Index: role_grant_pkey.
SELECT CASE WHEN $2::text IS NULL THEN format('DELETE FROM windlass.role_grant WHERE name = %L', $1::text)
            ELSE format('INSERT INTO windlass.role_grant (name, kind) VALUES (%L, %L) ON CONFLICT (name) DO UPDATE SET kind = excluded.kind', $1::text, $2::text) END AS said
WHERE (SELECT g.kind FROM windlass.role_grant g WHERE g.name = $1::text) IS DISTINCT FROM $2::text
