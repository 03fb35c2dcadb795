-- counter_read: the counts of every queue, exact.
-- params: none     returns: queue and one column a state, bytes
SELECT queue, sum(blocked)::int8 AS blocked, sum(queued)::int8 AS queued, sum(running)::int8 AS running,
       sum(succeeded)::int8 AS succeeded, sum(dead)::int8 AS dead, sum(cancelled)::int8 AS cancelled,
       sum(expired)::int8 AS expired, sum(skipped)::int8 AS skipped, sum(bytes)::int8 AS bytes
FROM (SELECT * FROM windlass.counter UNION ALL SELECT * FROM windlass.counter_delta) part
GROUP BY queue
