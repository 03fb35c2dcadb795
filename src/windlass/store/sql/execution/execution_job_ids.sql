-- execution_job_ids: one page of an execution's jobs, by step and item; a fan-out's items stand before its own job.
-- params: execution_id uuid, most int4, since timestamptz (when it was created), after_step text, after_item int4 (the largest
--         int4: a job that is no item), after_id uuid
-- returns: id, in order
-- Index: job_step, job_history_step. What follows an item is in three ranges of the index: further items of its step, the
-- step's own job, later steps. Each is read from where it begins, so that a page far down a large fan-out costs no more.
WITH jobs AS (
    (SELECT step, item, id FROM windlass.job
     WHERE execution_id = $1 AND step = $4 AND item >= $5 AND (item, id) > ($5, $6) ORDER BY step, item, id LIMIT $2)
    UNION ALL
    (SELECT step, item, id FROM windlass.job
     WHERE execution_id = $1 AND step = $4 AND item IS NULL AND ($5 < 2147483647 OR id > $6) ORDER BY step, item, id LIMIT $2)
    UNION ALL
    (SELECT step, item, id FROM windlass.job WHERE execution_id = $1 AND step > $4 ORDER BY step, item, id LIMIT $2)
    UNION ALL
    (SELECT step, item, id FROM windlass.job_history
     WHERE execution_id = $1 AND finished_at >= $3::timestamptz - interval '1 hour' AND step = $4 AND item >= $5
       AND (item, id) > ($5, $6) ORDER BY step, item, id LIMIT $2)
    UNION ALL
    (SELECT step, item, id FROM windlass.job_history
     WHERE execution_id = $1 AND finished_at >= $3::timestamptz - interval '1 hour' AND step = $4 AND item IS NULL
       AND ($5 < 2147483647 OR id > $6) ORDER BY step, item, id LIMIT $2)
    UNION ALL
    (SELECT step, item, id FROM windlass.job_history
     WHERE execution_id = $1 AND finished_at >= $3::timestamptz - interval '1 hour' AND step > $4 ORDER BY step, item, id LIMIT $2)
)
SELECT id FROM jobs ORDER BY step, item, id LIMIT $2
