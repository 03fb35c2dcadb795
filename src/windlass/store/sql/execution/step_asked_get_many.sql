-- step_asked_get_many: steps that wait, with what they were given.
-- params: id uuid[]     returns: id, execution_id, step, kind, input, priority, correlation_id, trace_id, owner, callback_until
-- Index: primary key.
SELECT id, execution_id, step, kind, input, priority, correlation_id, trace_id, owner, nullif(callback_until, 'infinity') AS callback_until
FROM windlass.job WHERE id = ANY ($1::uuid[]) AND CASE state WHEN 'running' THEN callback_until IS NOT NULL END
ORDER BY id
