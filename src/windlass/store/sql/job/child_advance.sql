-- child_advance: tell children that parents have ended, so many at a time.
-- params: parent_id uuid[], state text[] (how each ended), most int4 (links), waits bool (for children that somebody holds;
--         otherwise they are left for later, and so are their links: those of others are looked for behind them, however many)
-- returns: child_id, verdict (`ready` now queued, `lock` now queued and parked for its locks, `waits` for others, `skip` or `fail`
-- by its rule), queue, priority, run_at, has_children; and one row `more` if there may be more links than were looked at
-- Index: dependency and job primary keys. Everybody locks jobs first, by id, and then takes links: who drops a child does so
-- too, and the two never wait for each other. Under the child's lock its links stay, so what was counted is what goes;
-- `waits_for` is counted on the newest row version, so two parents ending at once cannot both think the other is still open.
-- A link whose child waits no more goes as well; where held ones are passed over, when nothing else is left to do.
-- Written so that there is one order to join in, whatever the statistics say; `must_be` as in job_end_many.
WITH first AS MATERIALIZED (
    SELECT p.id AS parent_id, d.child_id, p.state
    FROM unnest($1::uuid[], $2::text[]) AS p(id, state)
    CROSS JOIN LATERAL (SELECT child_id FROM windlass.dependency WHERE parent_id = p.id LIMIT $3) d
    WHERE $4::bool
    LIMIT $3
), free_first AS MATERIALIZED (
    SELECT p.id AS parent_id, d.child_id, p.state
    FROM unnest($1::uuid[], $2::text[]) AS p(id, state)
    CROSS JOIN LATERAL (
        SELECT l.child_id
        FROM (SELECT child_id, 'blocked' AS must_be FROM windlass.dependency WHERE parent_id = p.id OFFSET 0) l
        CROSS JOIN LATERAL (SELECT FROM windlass.job WHERE id = l.child_id AND state = l.must_be FOR UPDATE SKIP LOCKED) j
        LIMIT $3) d
    WHERE NOT $4::bool
    LIMIT $3
), left_over AS MATERIALIZED (
    SELECT p.id AS parent_id, l.child_id, p.state
    FROM unnest($1::uuid[], $2::text[]) AS p(id, state)
    CROSS JOIN LATERAL (SELECT child_id, 'blocked' AS must_be FROM windlass.dependency WHERE parent_id = p.id OFFSET 0) l
    WHERE NOT $4::bool AND (SELECT count(*) FROM free_first) < $3
      AND NOT EXISTS (SELECT FROM windlass.job j WHERE j.id = l.child_id AND j.state = l.must_be OFFSET 0)
    LIMIT $3
), picked AS MATERIALIZED (
    SELECT * FROM first UNION ALL SELECT * FROM free_first UNION ALL SELECT * FROM left_over
), told AS MATERIALIZED (
    SELECT child_id, array_agg(parent_id) AS parents, count(*) AS n, bool_or(state <> 'succeeded') AS has_failed,
           'blocked' AS must_be
    FROM picked GROUP BY child_id ORDER BY child_id
), awaited AS MATERIALIZED (
    SELECT j.id, j.run_at, j.has_children, told.parents, told.n,
           CASE WHEN told.has_failed THEN coalesce(j.on_parent_failure, 'skip') ELSE 'run' END AS rule
    FROM told CROSS JOIN LATERAL (
        SELECT id, run_at, has_children, on_parent_failure FROM windlass.job
        WHERE id = told.child_id AND state = told.must_be FOR UPDATE) j
    WHERE $4::bool
), free AS MATERIALIZED (
    SELECT j.id, j.run_at, j.has_children, told.parents, told.n,
           CASE WHEN told.has_failed THEN coalesce(j.on_parent_failure, 'skip') ELSE 'run' END AS rule
    FROM told CROSS JOIN LATERAL (
        SELECT id, run_at, has_children, on_parent_failure FROM windlass.job
        WHERE id = told.child_id AND state = told.must_be FOR UPDATE SKIP LOCKED) j
    WHERE NOT $4::bool
), held AS MATERIALIZED (
    SELECT * FROM awaited UNION ALL SELECT * FROM free
), gone AS (
    DELETE FROM windlass.dependency d
    USING (SELECT id AS child_id, unnest(parents) AS parent_id FROM held
           UNION ALL
           SELECT child_id, unnest(parents) FROM told
           WHERE NOT EXISTS (SELECT FROM windlass.job j WHERE j.id = told.child_id AND j.state = told.must_be OFFSET 0)
           OFFSET 0) AS link
    WHERE d.parent_id = ANY (ARRAY[link.parent_id]) AND d.child_id = ANY (ARRAY[link.child_id])
), moved AS (
    UPDATE windlass.job j
    SET waits_for = j.waits_for - held.n,
        state = CASE WHEN j.waits_for - held.n = 0 THEN 'queued' ELSE 'blocked' END,
        run_at = CASE WHEN j.waits_for - held.n = 0 THEN greatest(j.run_at, clock_timestamp()) ELSE j.run_at END,
        parked_at = CASE WHEN j.waits_for - held.n = 0 AND j.locks IS NOT NULL THEN clock_timestamp() END,
        parked_for = CASE WHEN j.waits_for - held.n = 0 AND j.locks IS NOT NULL THEN 'lock' END
    FROM held
    WHERE j.id = ANY (ARRAY[held.id]) AND held.rule = 'run'
    RETURNING j.id, j.state, j.queue, j.priority, j.run_at, j.parked_for, j.has_children, held.run_at AS from_run_at
), noted AS (
    INSERT INTO windlass.event (noun, subject, job_id, type, data)
    SELECT 'job', replace(m.id::text, '-', ''), m.id, 'unblocked', json_build_object('run_at', m.run_at, 'from_run_at', m.from_run_at)
    FROM moved m WHERE m.state = 'queued'
)
SELECT id AS child_id, CASE state WHEN 'queued' THEN coalesce(parked_for, 'ready') ELSE 'waits' END AS verdict, queue, priority, run_at,
       has_children
FROM moved
UNION ALL
SELECT id, rule, NULL, NULL, NULL, has_children FROM held WHERE rule <> 'run'
UNION ALL
SELECT NULL, 'more', NULL, NULL, NULL, NULL WHERE (SELECT count(*) FROM picked) >= $3
