-- queue_submitted_many: so many jobs have come into these queues, for those that take only so many a second.
-- params: name text[], jobs int8[]     returns: nothing
-- Index: queue primary key; in the transaction that inserts them, which holds the queues' locks.
UPDATE windlass.queue q
SET submit_due_at = greatest(q.submit_due_at, clock_timestamp()) + g.jobs / q.submit_rate * interval '1 second'
FROM unnest($1::text[], $2::int8[]) AS g(name, jobs)
WHERE q.name = g.name AND q.submit_rate IS NOT NULL
