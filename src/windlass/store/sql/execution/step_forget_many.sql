-- step_forget_many: forget ended steps of an execution that are to be done again, items of fan-outs included.
-- params: execution_id uuid, step text[], since timestamptz (when it was created), most int4
-- returns: state, count of those that went, so many at most
-- Index: job_history_step, job_history primary key. Needs windlass.verb = 'replay' in this transaction; the caller holds the
-- execution and notes what went. Attempts and events of theirs stay until their days go.
WITH gone AS (
    DELETE FROM windlass.job_history h
    USING (SELECT o.id, o.finished_at FROM windlass.job_history o
           WHERE o.execution_id = $1 AND o.step = ANY ($2::text[]) AND o.finished_at >= $3 LIMIT $4) old
    WHERE h.id = old.id AND h.finished_at = old.finished_at
    RETURNING h.state
)
SELECT state, count(*)::int AS count FROM gone GROUP BY state
