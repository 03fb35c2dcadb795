-- key_token_forget: tokens that a rotation has ended.
-- params: limit int4     returns: hash of each
DELETE FROM windlass.key_token WHERE hash IN (
    SELECT hash FROM windlass.key_token WHERE until < clock_timestamp() LIMIT $1 FOR UPDATE SKIP LOCKED
) RETURNING hash
