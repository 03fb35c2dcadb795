-- child_fallen: who falls along with blocked jobs that will not run: their children, and theirs, down to whoever runs
-- nevertheless.
-- params: id uuid[], rule text[] (`skip` or `fail`, of each), most int4     returns: id, rule, the given ones first
-- Index: dependency and job primary keys. One statement for a chain of any length: it walks down a level at a time and stops
-- at `most`. The laterals leave one order to join in. None of them can come to run meanwhile, since each has a parent here that never succeeds.
WITH RECURSIVE fallen(id, rule) AS (
    SELECT id, rule FROM unnest($1::uuid[], $2::text[]) AS g(id, rule)
    UNION
    SELECT j.id, j.rule
    FROM fallen f
    CROSS JOIN LATERAL (SELECT child_id, 'blocked' AS must_be FROM windlass.dependency WHERE parent_id = f.id OFFSET 0) d
    CROSS JOIN LATERAL (
        SELECT id, coalesce(on_parent_failure, 'skip') AS rule FROM windlass.job
        WHERE id = d.child_id AND state = d.must_be OFFSET 0) j
    WHERE j.rule <> 'run'
)
SELECT id, rule FROM fallen LIMIT $3
