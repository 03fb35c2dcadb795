-- session_touch_many: these sessions were used; which of them are good still.
-- params: ids uuid[], seen_seconds float8, idle_seconds float8     returns: id of each that is
-- One that somebody else has in hand is not waited for: it is written the next time. Index: primary key.
WITH asked AS (
    SELECT s.id, s.seen_at FROM windlass.session s JOIN windlass.user_account u ON u.id = s.user_id
    WHERE s.id = ANY ($1::uuid[]) AND s.revoked_at IS NULL AND s.expires_at > clock_timestamp()
      AND s.seen_at > clock_timestamp() - make_interval(secs => $3) AND u.disabled_at IS NULL
), due AS (
    SELECT s.id FROM windlass.session s JOIN asked USING (id)
    WHERE asked.seen_at < clock_timestamp() - make_interval(secs => $2)
    ORDER BY s.id FOR UPDATE OF s SKIP LOCKED
), touched AS (
    UPDATE windlass.session s SET seen_at = clock_timestamp() FROM due WHERE s.id = due.id
)
SELECT id FROM asked
