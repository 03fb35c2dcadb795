-- key_rotate: another token for a key; those that it had stay good for a while, or as long as they would have. After
-- key_lock.
-- params: id uuid, hash bytea, overlap_seconds float8, user_id uuid (NULL: whoever's it is)
-- returns: id; nothing when there is no such key
-- The hash of a key that Windlass made itself becomes a token with an end, too, and the new one takes its place: nodes
-- of the release before look there alone, and key_admin_reset tells those keys by having one. Of other keys there is none.
WITH rotated AS (
    UPDATE windlass.api_key k SET rotated_at = clock_timestamp(), hash = CASE WHEN old.hash IS NOT NULL THEN $2::bytea END
    FROM (SELECT id, hash FROM windlass.api_key WHERE id = $1 FOR UPDATE) old
    WHERE k.id = old.id AND k.revoked_at IS NULL AND ($4::uuid IS NULL OR k.user_id = $4)
    RETURNING k.id, old.hash AS old_hash
), ended AS (
    UPDATE windlass.key_token t
    SET until = LEAST(t.until, clock_timestamp() + make_interval(secs => $3))
    FROM rotated WHERE t.key_id = rotated.id
), kept AS (
    INSERT INTO windlass.key_token (hash, key_id, until)
    SELECT old_hash, id, clock_timestamp() + make_interval(secs => $3) FROM rotated WHERE old_hash IS NOT NULL
), added AS (
    INSERT INTO windlass.key_token (hash, key_id) SELECT $2, id FROM rotated WHERE old_hash IS NULL
)
SELECT id FROM rotated
