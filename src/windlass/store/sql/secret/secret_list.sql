-- secret_list: secrets by name after a name, without what is sealed.
-- params: after text, most int4, name text (NULL: all)
-- returns: name, version, kind, public_key, key_id, created_at, put_at, overlap_until (of the previous version; NULL: none),
--          hosts (NULL: not bound yet)
-- Index: secret_current for the names, secret_previous for the overlap, primary key for the hosts.
SELECT s.name, s.version, s.kind, s.public_key, s.key_id, s.created_at, s.put_at, p.overlap_until, b.hosts
FROM windlass.secret s
LEFT JOIN windlass.secret p ON p.name = s.name AND p.overlap_until > clock_timestamp()
LEFT JOIN windlass.secret_binding b ON b.name = s.name
WHERE s.overlap_until IS NULL AND s.name > $1 AND ($3::text IS NULL OR s.name = $3)
ORDER BY s.name LIMIT $2
