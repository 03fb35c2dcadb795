-- job_delete_many: forget finished jobs and all that was kept about them.
-- params: id uuid[], state text (only those that are in it now; NULL: any), ended_by timestamptz (and ended by then; NULL: any time)
-- returns: id
-- Index: job_history primary key. Needs windlass.verb = 'delete' in this transaction. Steps of an
-- execution that has not ended stay: what follows from them is still to be decided.
WITH gone AS (
    DELETE FROM windlass.job_history h
    WHERE h.id = ANY ($1::uuid[]) AND ($2::text IS NULL OR h.state = $2)
      AND ($3::timestamptz IS NULL OR h.finished_at <= $3) AND NOT (h.execution_id IS NOT NULL AND EXISTS (
        SELECT FROM windlass.execution e WHERE e.id = h.execution_id AND CASE WHEN e.finished_at IS NULL THEN true END OFFSET 0))
    RETURNING h.id
), attempts AS (
    DELETE FROM windlass.attempt a USING gone WHERE a.job_id = gone.id
), events AS (
    DELETE FROM windlass.event e USING gone WHERE e.job_id = gone.id
), keys AS (
    DELETE FROM windlass.job_key k USING gone WHERE k.job_id = ANY (ARRAY[gone.id])
), log_lines AS (
    DELETE FROM windlass.job_log l USING gone WHERE l.job_id = gone.id
), progress AS (
    DELETE FROM windlass.job_progress p USING gone WHERE p.job_id = gone.id
), checkpoints AS (
    DELETE FROM windlass.checkpoint c USING gone WHERE c.job_id = gone.id
)
SELECT id FROM gone
