-- job_place: where a job belongs: its queue, and the workflow of its execution.
-- params: id uuid     returns: queue, workflow (NULL: of no execution)
-- Indexes: primary keys; ANY (ARRAY[…]) keeps the second look-up one, whatever the tables held a minute ago.
SELECT j.queue,
       (SELECT e.workflow FROM windlass.execution e WHERE e.id = ANY (ARRAY[j.execution_id])) AS workflow
FROM windlass.job j WHERE j.id = $1
