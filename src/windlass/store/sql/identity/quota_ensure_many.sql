-- quota_ensure_many: rows for what these users and keys use of their quotas, where there are none yet.
-- params: subject uuid[]     returns: nothing
-- Indexes: primary keys. Once for each of them and node; who has a row is not touched, whoever holds it.
INSERT INTO windlass.quota_use (subject, user_id, key_id, day)
SELECT found.id, found.user_id, found.key_id, (clock_timestamp() AT TIME ZONE 'UTC')::date
FROM (
    SELECT id, id AS user_id, NULL::uuid AS key_id FROM windlass.user_account WHERE id = ANY ($1::uuid[])
    UNION ALL
    SELECT id, NULL, id FROM windlass.api_key WHERE id = ANY ($1::uuid[])
) found
WHERE NOT EXISTS (SELECT FROM windlass.quota_use u WHERE u.subject = found.id)
ORDER BY found.id
ON CONFLICT (subject) DO NOTHING
