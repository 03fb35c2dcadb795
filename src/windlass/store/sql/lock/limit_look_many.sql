-- limit_look_many: have somebody look at limits when their rate lets the next one go.
-- params: name text[] (locks whose rows the caller holds), least float8 (seconds; nobody looks sooner)
-- returns: seconds (until then)     Nothing, where nobody waits or no rate keeps him waiting.
-- Index: lock primary key; lock_wait_line, the first waiter of each; lock_hold primary key.
WITH next AS MATERIALIZED (
    SELECT l.name, first.waiter, greatest(l.rate_due_at, now_is.at + $2::float8 * interval '1 second') AS at
    FROM (SELECT clock_timestamp() AS at) now_is
    CROSS JOIN windlass.lock l
    CROSS JOIN LATERAL (
        SELECT w.waiter FROM windlass.lock_wait w WHERE w.lock = l.name AND w.since <= now_is.at ORDER BY w.lock, w.rank LIMIT 1
    ) first
    WHERE l.name = ANY ($1::text[]) AND l.rate IS NOT NULL
      AND (SELECT count(*) FROM windlass.lock_hold h WHERE h.lock = l.name) < l.capacity
)
UPDATE windlass.lock_wait w SET look_at = next.at FROM next
WHERE w.lock = ANY (ARRAY[next.name]) AND w.waiter = ANY (ARRAY[next.waiter])
RETURNING extract(epoch FROM next.at - clock_timestamp())::float8 AS seconds
