-- job_known_many: which of these jobs exist, finished or not. Resolves an enqueue whose commit is unknown.
-- params: id uuid[]     returns: id
-- Index: both primary keys.
-- The message in the log makes this a write, so its own commit waits for a synchronous standby like
-- any other. A commit that was cut off while it waited is visible at once and may be on this server
-- only: to answer for it before the standby has it would be to accept a job that a failover loses.
SELECT id
FROM (
    SELECT id FROM windlass.job WHERE id = ANY ($1::uuid[])
    UNION ALL
    SELECT id FROM windlass.job_history WHERE id = ANY ($1::uuid[])
) AS known,
    (SELECT pg_logical_emit_message(true, 'windlass', 'known') AS lsn) AS waits
WHERE lsn IS NOT NULL
