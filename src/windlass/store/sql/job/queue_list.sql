-- queue_list: queues by name after a name.
-- params: after text, most int4, name text (NULL: all)     returns: the rows
SELECT name, max_jobs, max_bytes, max_running, rate, submit_rate, is_paused, paused_at, created_at
FROM windlass.queue WHERE name > $1 AND ($3::text IS NULL OR name = $3) ORDER BY name LIMIT $2
