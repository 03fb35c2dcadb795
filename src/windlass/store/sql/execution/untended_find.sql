-- untended_find: steps that a crash left without what they wait for.
-- params: older_seconds float8, most int4, resting uuid[] (jobs that failed just now, and are left alone)
-- returns: what ('fan', 'child', 'asked'), id, execution_id, step
-- Index: job_callback (few jobs wait for anything), fan and execution_parent. Nobody is hurt when it finds one that is just
-- being looked after: every deed is idempotent.
(SELECT 'fan' AS what, f.job_id AS id, f.execution_id, f.step
 FROM windlass.fan f LEFT JOIN windlass.job j ON j.id = ANY (ARRAY[f.job_id])
 WHERE f.job_id <> ALL ($3::uuid[]) AND (j.id IS NULL OR j.started_at < clock_timestamp() - $1 * interval '1 second' AND (
    (f.expanded < f.total AND f.parallel IS NULL AND NOT f.is_stopped)
    OR NOT EXISTS (SELECT FROM windlass.job p WHERE p.execution_id = ANY (ARRAY[f.execution_id]) AND p.step = f.step AND p.item IS NOT NULL)))
 LIMIT $2)
UNION ALL
(SELECT CASE j.kind WHEN 'workflow' THEN 'child' ELSE 'asked' END, j.id, j.execution_id, j.step
 FROM windlass.job j
 WHERE j.callback_until IS NOT NULL AND j.execution_id IS NOT NULL AND j.id <> ALL ($3::uuid[])
   AND j.started_at < clock_timestamp() - $1 * interval '1 second' AND (
    (j.kind = 'workflow' AND NOT EXISTS (SELECT FROM windlass.execution e WHERE e.parent_job_id = ANY (ARRAY[j.id])))
    OR (j.kind = 'approval' AND NOT EXISTS (SELECT FROM windlass.approval a WHERE a.job_id = j.id))
    OR (j.kind = 'signal' AND EXISTS (SELECT FROM windlass.execution_signal s
        WHERE s.execution_id = j.execution_id AND s.name = j.input ->> 'name' AND s.taken_by IS NULL)))
 LIMIT $2)
