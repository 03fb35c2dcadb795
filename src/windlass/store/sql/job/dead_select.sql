-- dead_select: ids of dead letters that match a filter, oldest first.
-- params: queue text, kind text, cause text, tag text, finished_after timestamptz, finished_before timestamptz (NULL: any), most int4,
--         task text (NULL: any), target text (NULL: any; engine/jobs/replay.py puts its condition for {where})
-- returns: id
-- Index: job_history_dead; with a target job_history_dead_target, where all that it failed since an instant lies together.
-- The instants are written as bounds and not as questions, so that they bound the index and the days in every plan.
SELECT id FROM windlass.job_history
WHERE state = 'dead' AND {where}
  AND ($1::text IS NULL OR queue = $1) AND ($2::text IS NULL OR kind = $2) AND ($3::text IS NULL OR coalesce(cause, 'unknown') = $3)
  AND ($8::text IS NULL OR task = $8) AND ($4::text IS NULL OR tags @> ARRAY[$4])
  AND finished_at >= coalesce($5::timestamptz, '-infinity') AND finished_at < coalesce($6::timestamptz, 'infinity')
ORDER BY id LIMIT $7
