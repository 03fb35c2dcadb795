-- job_outside: is one of these jobs outside the queues and workflows that a key is confined to?
-- params: ids uuid[], queues text[], workflows text[]     returns: is_any
-- Indexes: primary keys; ANY (ARRAY[…]) keeps each look-up one, whatever the tables held a minute ago.
SELECT EXISTS (
    SELECT FROM (
        SELECT queue, execution_id FROM windlass.job WHERE id = ANY ($1::uuid[])
        UNION ALL
        SELECT queue, execution_id FROM windlass.job_history WHERE id = ANY ($1::uuid[])
    ) j
    WHERE j.queue <> ALL ($2::text[]) AND NOT COALESCE((
        SELECT e.workflow FROM windlass.execution e WHERE e.id = ANY (ARRAY[j.execution_id])
    ) = ANY ($3::text[]), false)
) AS is_any
