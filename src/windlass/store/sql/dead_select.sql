-- dead_select: ids of dead letters that match a filter, oldest first.
-- params: queue text, kind text, cause text, tag text, since timestamptz, until timestamptz (NULL: any), most int4
-- returns: id
-- Index: job_history_dead.
SELECT id FROM windlass.job_history
WHERE state = 'dead'
  AND ($1::text IS NULL OR queue = $1) AND ($2::text IS NULL OR kind = $2) AND ($3::text IS NULL OR coalesce(cause, 'unknown') = $3)
  AND ($4::text IS NULL OR tags @> ARRAY[$4]) AND ($5::timestamptz IS NULL OR finished_at >= $5)
  AND ($6::timestamptz IS NULL OR finished_at < $6)
ORDER BY id LIMIT $7
