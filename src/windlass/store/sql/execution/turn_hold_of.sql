-- turn_hold_of: as turn_hold_many, of the keys that these executions have.
-- params: execution_id uuid[]     returns: nothing of use     Index: execution primary key. An execution's key never changes.
SELECT pg_advisory_xact_lock(keys.hash)
FROM (SELECT DISTINCT hashtextextended(e.workflow || ':' || e.concurrency_key, 5) AS hash
      FROM windlass.execution e WHERE e.id = ANY ($1::uuid[]) AND e.concurrency_key IS NOT NULL ORDER BY hash OFFSET 0) keys
