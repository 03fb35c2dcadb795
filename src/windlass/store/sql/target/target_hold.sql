-- target_hold: take a target's row until the transaction ends, so that what is judged of its limits holds at the write.
-- params: host text
-- returns: rate, max_running, breaker_failures, breaker_rest_seconds, breaker_rest_max_seconds, is_made (as in queue_hold)
-- Index: target primary key.
INSERT INTO windlass.target AS t (host) VALUES ($1)
ON CONFLICT (host) DO UPDATE SET host = t.host
RETURNING rate, max_running, breaker_failures, breaker_rest_seconds, breaker_rest_max_seconds, t.xmax = 0 AS is_made
