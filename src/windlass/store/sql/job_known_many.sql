-- job_known_many: which of these jobs exist, finished or not. Resolves an enqueue whose commit is unknown.
-- params: id uuid[]     returns: id
-- Index: both primary keys.
SELECT id FROM windlass.job WHERE id = ANY ($1::uuid[])
UNION ALL
SELECT id FROM windlass.job_history WHERE id = ANY ($1::uuid[])
