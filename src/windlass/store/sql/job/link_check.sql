-- link_check: what is wrong between parents and children.
-- params: most int4     returns: problem, child_id, parent_id (NULL for waits_for), had, should
-- A whole look at `dependency` and at the blocked jobs; for the doctor, in one snapshot. What belongs to a row is looked up by its
-- key, and OFFSET 0 leaves no other plan: with statistics of a moment in which thousands of rows were not committed yet, all of
-- `job` was read for each link (25 s for 2,500). `must_be` as in job_end_many.
(SELECT 'parent_gone' AS problem, d.child_id, d.parent_id, NULL::int8 AS had, NULL::int8 AS should
 FROM windlass.dependency d
 WHERE NOT EXISTS (SELECT FROM windlass.job p WHERE p.id = d.parent_id OFFSET 0)
   AND NOT EXISTS (SELECT FROM windlass.parent_end e WHERE e.parent_id = d.parent_id OFFSET 0) LIMIT $1)
UNION ALL
(SELECT 'child_gone', d.child_id, d.parent_id, NULL, NULL
 FROM (SELECT parent_id, child_id, 'blocked' AS must_be FROM windlass.dependency OFFSET 0) d
 WHERE NOT EXISTS (SELECT FROM windlass.job c WHERE c.id = d.child_id AND c.state = d.must_be OFFSET 0) LIMIT $1)
UNION ALL
(SELECT 'parent_unmarked', d.child_id, d.parent_id, NULL, NULL
 FROM windlass.dependency d
 WHERE EXISTS (SELECT FROM windlass.job p WHERE p.id = d.parent_id AND NOT p.has_children OFFSET 0) LIMIT $1)
UNION ALL
(SELECT 'link_missing', c.id, named.id, NULL, NULL
 FROM windlass.job c CROSS JOIN LATERAL unnest(c.depends_on) AS named(id)
 WHERE c.state = 'blocked' AND EXISTS (SELECT FROM windlass.job p WHERE p.id = named.id OFFSET 0)
   AND NOT EXISTS (SELECT FROM windlass.dependency d WHERE d.parent_id = named.id AND d.child_id = c.id OFFSET 0) LIMIT $1)
UNION ALL
(SELECT 'waits_for', c.id, NULL, c.waits_for, links.n
 FROM windlass.job c CROSS JOIN LATERAL (SELECT count(*) AS n FROM windlass.dependency d WHERE d.child_id = c.id) links
 WHERE c.state = 'blocked' AND c.waits_for <> links.n LIMIT $1)
