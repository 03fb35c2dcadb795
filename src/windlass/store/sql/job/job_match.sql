-- job_match: jobs whose ids lie between two, newest first: those that a prefix of an id can mean.
-- params: low uuid, high uuid, most int4     returns: id, name (what it is of), state, created_at
-- Index: both primary keys, read backwards from the upper end; the history's in each day's partition, merged. So it costs the
-- rows that are shown, however many ids begin alike.
(SELECT id, coalesce(task, target, kind) AS name, state, created_at
 FROM windlass.job WHERE id BETWEEN $low AND $high ORDER BY id DESC LIMIT $most)
UNION ALL
(SELECT id, coalesce(task, target, kind), state, created_at
 FROM windlass.job_history WHERE id BETWEEN $low AND $high ORDER BY id DESC LIMIT $most)
ORDER BY id DESC LIMIT $most
