-- key_rotate: another token for a key; those that it had stay good for a while, or as long as they would have. After
-- key_lock.
-- params: id uuid, hash bytea, overlap_seconds float8, user_id uuid (NULL: whoever's it is)
-- returns: id; nothing when there is no such key
-- The hash of a key of before becomes a token with an end, too: nodes of the release before do not know it any more.
WITH rotated AS (
    UPDATE windlass.api_key k SET rotated_at = clock_timestamp(), hash = NULL
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
)
INSERT INTO windlass.key_token (hash, key_id) SELECT $2, id FROM rotated RETURNING key_id AS id
