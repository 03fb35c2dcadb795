-- task_forget: drop tasks that no node has had for long.
-- params: kept_seconds float8, most int4     returns: name of each
-- Index: none; there are as many tasks as an App has functions.
DELETE FROM windlass.task WHERE name = ANY (ARRAY(
    SELECT t.name FROM windlass.task t
    WHERE t.described_at < now() - $1 * interval '1 second' AND NOT EXISTS (SELECT FROM windlass.node n WHERE t.name = ANY (n.tasks))
    ORDER BY t.name LIMIT $2 FOR UPDATE SKIP LOCKED))
RETURNING name
