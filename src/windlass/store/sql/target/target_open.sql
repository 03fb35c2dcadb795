-- target_open: open the breaker of a target that is not open; a target that nobody knew gets its row.
-- params: host text, reason text, chance float8 in [0, 1)     returns: the row, if it was this call that opened it
-- Each time it opens without having been closed in between it stays open twice as long, up to its maximum; `chance` spreads
-- the probes of many targets that failed together.
-- Index: target primary key.
WITH opened AS (
    INSERT INTO windlass.target AS t (host, breaker, opens, opened_at, open_until, breaker_reason)
    VALUES ($1, 'open', 1, clock_timestamp(), clock_timestamp() + (0.9 + $3::float8 / 5) * interval '5 seconds', $2)
    ON CONFLICT (host) DO UPDATE
    SET breaker = 'open', opens = t.opens + 1, opened_at = coalesce(t.opened_at, clock_timestamp()), breaker_reason = $2,
        open_until = clock_timestamp() + (0.9 + $3::float8 / 5) * interval '1 second'
            * least(t.breaker_rest_seconds * 2 ^ least(t.opens, 30), t.breaker_rest_max_seconds),
        changed_at = clock_timestamp()
    WHERE t.breaker <> 'open' AND t.breaker_failures > 0
    RETURNING t.*
), noted AS (
    INSERT INTO windlass.event (noun, subject, type, data)
    SELECT 'target', host, 'breaker_opened', json_build_object('reason', breaker_reason, 'open_until', open_until, 'opens', opens)
    FROM opened
)
SELECT *, clock_timestamp() AS now FROM opened
