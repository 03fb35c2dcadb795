-- turn_hold_many: hold concurrency keys to the end of the transaction: whoever wants to count their executions waits.
-- params: workflow text[], key text[]     returns: nothing of use
-- Advisory locks and no rows: a key has no row before its first execution, and one of its own would have to be forgotten
-- some day. Two keys of one hash wait for each other's commits, which does no harm. One order for everybody, and before any
-- row of an execution.
SELECT pg_advisory_xact_lock(keys.hash)
FROM (SELECT DISTINCT hashtextextended(g.workflow || ':' || g.key, 5) AS hash
      FROM unnest($1::text[], $2::text[]) AS g(workflow, key) ORDER BY hash OFFSET 0) keys
