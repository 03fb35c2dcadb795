-- task_describe_many: say what tasks take and give.
-- params: name text[], app text[], description text[] (JSON)     returns: nothing
-- Index: task primary key. By name, so that two nodes that start together cannot deadlock; a task that is described as before
-- gets no new row version, but for one a day, by which task_forget knows that it was there.
INSERT INTO windlass.task (name, app, description)
SELECT t.name, t.app, t.description::json
FROM unnest($1::text[], $2::text[], $3::text[]) AS t(name, app, description)
ORDER BY t.name
ON CONFLICT (name) DO UPDATE SET app = excluded.app, description = excluded.description, described_at = now()
WHERE task.app IS DISTINCT FROM excluded.app OR task.description::text <> excluded.description::text
   OR task.described_at < now() - interval '1 day'
