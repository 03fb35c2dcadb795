-- target_half_open: targets whose breaker has been open long enough: their next jobs are probes.
-- params: host text[] (rows the caller holds)     returns: nothing
-- Index: target primary key.
UPDATE windlass.target t SET breaker = 'half_open', changed_at = clock_timestamp()
WHERE t.host = ANY ($1::text[]) AND t.breaker = 'open' AND t.open_until <= clock_timestamp()
