-- backup_contents: what the tables hold at this moment: written into a backup, and counted again in what was restored from it.
-- params: none     returns: taken_at, schema, unfinished, running, ended, executions, schedules, secrets, key_ids text[], bytes
-- Index: none: everything is counted, once a backup. Whoever asks has a snapshot, so that all of it is of one moment.
SELECT now() AS taken_at,
       (SELECT name FROM windlass.migration ORDER BY number DESC LIMIT 1) AS schema,
       (SELECT count(*) FROM windlass.job) AS unfinished,
       (SELECT count(*) FROM windlass.job WHERE state = 'running') AS running,
       (SELECT count(*) FROM windlass.job_history) AS ended,
       (SELECT count(*) FROM windlass.execution) AS executions,
       (SELECT count(*) FROM windlass.schedule) AS schedules,
       (SELECT count(*) FROM windlass.secret) AS secrets,
       ARRAY(SELECT DISTINCT key_id FROM windlass.secret ORDER BY key_id) AS key_ids,
       (SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::int8 FROM pg_class
        WHERE relnamespace = 'windlass'::regnamespace AND relkind = 'r') AS bytes
