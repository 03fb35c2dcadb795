-- child_advance: tell children that parents have ended.
-- params: parent_id uuid[], state text[] (how each ended)
-- returns: child_id, verdict (`ready` now queued, `lock` now queued and parked for its locks, `waits` for others, `skip` or `fail`
-- by its rule), queue, priority, run_at
-- Index: dependency and job primary keys. Children are locked in one order for everybody; `waits_for` is counted on the
-- newest row version, so two parents ending at once cannot both think the other is still open.
WITH gone AS (
    DELETE FROM windlass.dependency d
    USING unnest($1::uuid[], $2::text[]) AS p(id, state)
    WHERE d.parent_id = p.id
    RETURNING d.child_id, p.state
), told AS (
    SELECT child_id, count(*) AS n, bool_or(state <> 'succeeded') AS has_failed FROM gone GROUP BY child_id
), held AS MATERIALIZED (
    SELECT j.id, j.run_at, told.n, CASE WHEN told.has_failed THEN coalesce(j.on_parent_failure, 'skip') ELSE 'run' END AS rule
    FROM windlass.job j JOIN told ON told.child_id = j.id
    WHERE j.state = 'blocked'
    ORDER BY j.id
    FOR UPDATE OF j
), moved AS (
    UPDATE windlass.job j
    SET waits_for = j.waits_for - held.n,
        state = CASE WHEN j.waits_for - held.n = 0 THEN 'queued' ELSE 'blocked' END,
        run_at = CASE WHEN j.waits_for - held.n = 0 THEN greatest(j.run_at, clock_timestamp()) ELSE j.run_at END,
        parked_at = CASE WHEN j.waits_for - held.n = 0 AND j.locks IS NOT NULL THEN clock_timestamp() END,
        parked_for = CASE WHEN j.waits_for - held.n = 0 AND j.locks IS NOT NULL THEN 'lock' END
    FROM held
    WHERE j.id = held.id AND held.rule = 'run'
    RETURNING j.id, j.state, j.queue, j.priority, j.run_at, j.parked_for, held.run_at AS from_run_at
), noted AS (
    INSERT INTO windlass.event (noun, subject, job_id, type, data)
    SELECT 'job', replace(m.id::text, '-', ''), m.id, 'unblocked', json_build_object('run_at', m.run_at, 'from_run_at', m.from_run_at)
    FROM moved m WHERE m.state = 'queued'
)
SELECT id AS child_id, CASE state WHEN 'queued' THEN coalesce(parked_for, 'ready') ELSE 'waits' END AS verdict, queue, priority, run_at FROM moved
UNION ALL
SELECT id, rule, NULL, NULL, NULL FROM held WHERE rule <> 'run'
