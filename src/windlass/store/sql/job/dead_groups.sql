-- dead_groups: dead letters by queue, kind, task or target, and cause, of the newest `most`.
-- params: most int4     returns: queue, kind, task, target, cause, count, first_at, last_at, sample_id
-- Index: job_history_dead.
SELECT queue, kind, task, target, coalesce(cause, 'unknown') AS cause, count(*) AS count, min(finished_at) AS first_at, max(finished_at) AS last_at,
       (array_agg(id ORDER BY finished_at DESC))[1] AS sample_id
FROM (SELECT queue, kind, task, target, cause, finished_at, id FROM windlass.job_history WHERE state = 'dead' ORDER BY id DESC LIMIT $1) dead
GROUP BY queue, kind, task, target, coalesce(cause, 'unknown')
ORDER BY count(*) DESC, queue, kind, task, target
