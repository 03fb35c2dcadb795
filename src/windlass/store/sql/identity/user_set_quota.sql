-- user_set_quota: another quota. Nothing of the user ends for it.
-- params: id uuid, quota json (NULL: none of its own)
-- returns: hash of each session that is good, whose copies have the quota of before
-- Indexes: primary key; session_of_user.
WITH changed AS (
    UPDATE windlass.user_account SET quota = $2::json, changed_at = clock_timestamp() WHERE id = $1 RETURNING id
)
SELECT s.hash FROM windlass.session s JOIN changed ON changed.id = s.user_id
WHERE s.revoked_at IS NULL AND s.expires_at > clock_timestamp()
