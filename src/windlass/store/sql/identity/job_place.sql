-- job_place: where a job belongs, finished or not: its queue, and the workflow of its execution.
-- params: id uuid     returns: queue, workflow (NULL: of no execution)
-- Indexes: primary keys; ANY (ARRAY[…]) keeps each look-up one, whatever the tables held a minute ago.
SELECT j.queue,
       (SELECT e.workflow FROM windlass.execution e WHERE e.id = ANY (ARRAY[j.execution_id])) AS workflow
FROM (
    SELECT queue, execution_id FROM windlass.job WHERE id = ANY (ARRAY[$1::uuid])
    UNION ALL
    SELECT queue, execution_id FROM windlass.job_history WHERE id = ANY (ARRAY[$1::uuid])
) j
