-- target_special: targets out of the ordinary, which a node must know before it delivers anything.
-- params: none     returns: the rows, with `now`; and one row with an empty host if there are none, so that `now` is known
-- Index: target_special.
SELECT t.*, clock_timestamp() AS now
FROM (SELECT) one
LEFT JOIN windlass.target t
    ON NOT t.is_enabled OR t.rate IS NOT NULL OR t.max_running IS NOT NULL OR t.breaker <> 'closed' OR t.breaker_failures <> 10
