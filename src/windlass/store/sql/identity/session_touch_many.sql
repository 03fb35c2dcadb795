-- session_touch_many: these sessions were used; which of them are good still.
-- params: hashes bytea[], seen_seconds float8, idle_seconds float8     returns: hash of each that is
-- By the hash of the token, not by the session: one that was rotated is good, and its token of before is not.
-- One that somebody else has in hand is not waited for: it is written the next time. Index: unique on hash.
WITH asked AS (
    SELECT s.id, s.hash, s.seen_at FROM windlass.session s JOIN windlass.user_account u ON u.id = s.user_id
    WHERE s.hash = ANY ($1::bytea[]) AND s.revoked_at IS NULL AND s.expires_at > clock_timestamp()
      AND s.seen_at > clock_timestamp() - make_interval(secs => $3) AND u.disabled_at IS NULL
), due AS (
    SELECT s.id FROM windlass.session s JOIN asked USING (id)
    WHERE asked.seen_at < clock_timestamp() - make_interval(secs => $2)
    ORDER BY s.id FOR UPDATE OF s SKIP LOCKED
), touched AS (
    UPDATE windlass.session s SET seen_at = clock_timestamp() FROM due WHERE s.id = due.id
)
SELECT hash FROM asked
