-- session_rotate: the same session under another token; the one before opens nothing from now on.
-- params: id uuid, hash bytea     returns: old_hash; nothing when it has ended
UPDATE windlass.session s SET hash = $2
FROM (SELECT id, hash FROM windlass.session WHERE id = $1 AND revoked_at IS NULL FOR UPDATE) old
WHERE s.id = old.id
RETURNING old.hash AS old_hash
