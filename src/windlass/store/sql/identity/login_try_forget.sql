-- login_try_forget: what was counted and matters no more.
-- params: limit int4     returns: subject of each
-- Index: login_try_due_at.
DELETE FROM windlass.login_try WHERE subject IN (
    SELECT subject FROM windlass.login_try WHERE due_at < clock_timestamp()
    ORDER BY due_at LIMIT $1 FOR UPDATE SKIP LOCKED
) RETURNING subject
