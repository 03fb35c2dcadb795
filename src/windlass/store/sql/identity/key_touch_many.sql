-- key_touch_many: these keys were used; which of them are good still.
-- params: ids uuid[], seen_seconds float8     returns: id of each that is
-- One that somebody else has in hand is not waited for: it is written the next time. Index: primary key.
WITH asked AS (
    SELECT k.id, k.last_used_at FROM windlass.api_key k LEFT JOIN windlass.user_account u ON u.id = k.user_id
    WHERE k.id = ANY ($1::uuid[]) AND k.revoked_at IS NULL AND u.disabled_at IS NULL
      AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp())
), due AS (
    SELECT k.id FROM windlass.api_key k JOIN asked USING (id)
    WHERE asked.last_used_at IS NULL OR asked.last_used_at < clock_timestamp() - make_interval(secs => $2)
    ORDER BY k.id FOR UPDATE OF k SKIP LOCKED
), touched AS (
    UPDATE windlass.api_key k SET last_used_at = clock_timestamp() FROM due WHERE k.id = due.id
)
SELECT id FROM asked
