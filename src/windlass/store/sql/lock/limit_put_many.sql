-- limit_put_many: what limits allow, as the newest of these jobs say it.
-- params: name text[] (locks whose rows the caller holds: nothing else is touched), waiter uuid[] (who came to wait)
-- returns: nothing
-- Index: job and lock primary keys. A job that was tried before says nothing new: it may be older than what is in force. Who holds
-- a place keeps it. Nor does one that is older than who has said it: due only now, or looked at once more. A rate that was slow does not keep the next one waiting for longer than the new one would.
UPDATE windlass.lock l
SET capacity = said.capacity, rate = said.rate, said_by = said.id,
    rate_due_at = CASE WHEN said.rate IS NOT NULL THEN least(l.rate_due_at, clock_timestamp() + 1 / said.rate * interval '1 second') END
FROM (
    SELECT DISTINCT ON (ask.lock) ask.lock, j.id, coalesce(ask.max_running, 10000) AS capacity, ask.rate
    FROM windlass.job j CROSS JOIN LATERAL json_to_recordset(j.limits) AS ask(lock text, max_running integer, rate double precision)
    WHERE j.id = ANY ($2::uuid[]) AND j.limits IS NOT NULL AND j.attempt = 0
    ORDER BY ask.lock, j.id DESC
) said
WHERE l.name = ANY (ARRAY[said.lock]) AND l.name = ANY ($1::text[]) AND l.is_limit
  AND (l.said_by IS NULL OR l.said_by < said.id)
