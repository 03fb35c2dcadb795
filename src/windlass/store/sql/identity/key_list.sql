-- key_list: a page of the keys that were not revoked, the oldest first; or one of them.
-- params: after uuid, limit int4, user_id uuid (NULL: everybody's), id uuid (NULL: all)
-- returns: id, name, role, rights, queues, workflows, user_id, user_name, created_at, expires_at, rotated_at,
--          last_used_at, overlap_until, is_expired, quota
-- Index: primary key.
SELECT k.id, k.name, k.role, k.rights, k.queues, k.workflows, k.user_id, u.name AS user_name, k.created_at,
       k.expires_at, k.rotated_at, k.last_used_at, k.expires_at <= clock_timestamp() AS is_expired, k.quota,
       (SELECT max(t.until) FROM windlass.key_token t WHERE t.key_id = k.id AND t.until > clock_timestamp())
           AS overlap_until
FROM windlass.api_key k LEFT JOIN windlass.user_account u ON u.id = k.user_id
WHERE k.id > $1 AND ($4::uuid IS NULL OR k.id = $4) AND ($3::uuid IS NULL OR k.user_id = $3)
  AND k.revoked_at IS NULL
ORDER BY k.id LIMIT $2
