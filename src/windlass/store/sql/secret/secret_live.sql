-- secret_live: the versions of a name that are good now, newest first, and the hosts it may go to.
-- params: name text     returns: version, public_key, key_id, nonce, box, hosts (NULL: it is not bound yet)
-- Index: primary keys.
SELECT s.version, s.public_key, s.key_id, s.nonce, s.box, b.hosts
FROM windlass.secret s
LEFT JOIN windlass.secret_binding b ON b.name = s.name
WHERE s.name = $1 AND (s.overlap_until IS NULL OR s.overlap_until > clock_timestamp())
ORDER BY s.version DESC
