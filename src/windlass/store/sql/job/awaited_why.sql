-- awaited_why: what a step waits for that no node performs.
-- params: id uuid     returns: kind, step, since, until (NULL: any time), name (of its signal), workflow (of its child), approval_id, title,
--         child_id, child_state; total, expanded, ended of a fan-out. What is not of its kind is NULL.
-- Index: primary keys; approval's on its job, execution_parent, fan_delta_of.
SELECT j.kind, j.step, j.started_at AS since, nullif(j.callback_until, 'infinity') AS until, j.input ->> 'name' AS name,
       j.input ->> 'workflow' AS workflow, a.id AS approval_id, a.title, c.id AS child_id, c.state AS child_state, f.total, f.expanded,
       (SELECT coalesce(sum(d.succeeded + d.failed), 0)::int4 FROM windlass.fan_delta d
        WHERE d.execution_id = f.execution_id AND d.step = f.step) AS ended
FROM windlass.job j
LEFT JOIN windlass.approval a ON a.job_id = j.id AND j.kind = 'approval'
LEFT JOIN windlass.execution c ON c.parent_job_id = j.id AND j.kind = 'workflow'
LEFT JOIN windlass.fan f ON f.execution_id = j.execution_id AND f.step = j.step AND f.job_id = j.id
WHERE j.id = $1 AND j.execution_id IS NOT NULL AND j.callback_until IS NOT NULL
