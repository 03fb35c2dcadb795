-- key_find: the key that a token belongs to, unless it was revoked or is too old, and what its user may do now.
-- params: hash bytea
-- returns: id, name, role, rights, queues, workflows, user_id, expires_at, quota, user_role (NULL: of nobody), user_quota
-- Indexes: unique on api_key.hash; primary keys of key_token, api_key and user_account.
SELECT k.id, k.name, k.role, k.rights, k.queues, k.workflows, k.user_id,
       LEAST(k.expires_at, found.until) AS expires_at, k.quota, u.role AS user_role, u.quota AS user_quota
FROM (
    SELECT id, NULL::timestamptz AS until FROM windlass.api_key WHERE hash = $1
    UNION ALL
    SELECT key_id, until FROM windlass.key_token WHERE hash = $1
) found
JOIN windlass.api_key k ON k.id = found.id
LEFT JOIN windlass.user_account u ON u.id = k.user_id
WHERE k.revoked_at IS NULL
  AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp())
  AND (found.until IS NULL OR found.until > clock_timestamp())
  AND u.disabled_at IS NULL
