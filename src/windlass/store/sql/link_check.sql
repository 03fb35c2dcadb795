-- link_check: what is wrong between parents and children.
-- params: most int4     returns: problem, child_id, parent_id (NULL for waits_for), had, should
-- A whole look at `dependency` and at the blocked jobs; for the doctor, in one snapshot.
(SELECT 'parent_gone' AS problem, d.child_id, d.parent_id, NULL::int8 AS had, NULL::int8 AS should
 FROM windlass.dependency d
 WHERE NOT EXISTS (SELECT FROM windlass.job p WHERE p.id = d.parent_id)
   AND NOT EXISTS (SELECT FROM windlass.parent_end e WHERE e.parent_id = d.parent_id) LIMIT $1)
UNION ALL
(SELECT 'child_gone', d.child_id, d.parent_id, NULL, NULL
 FROM windlass.dependency d WHERE NOT EXISTS (SELECT FROM windlass.job c WHERE c.id = d.child_id AND c.state = 'blocked') LIMIT $1)
UNION ALL
(SELECT 'parent_unmarked', d.child_id, d.parent_id, NULL, NULL
 FROM windlass.dependency d JOIN windlass.job p ON p.id = d.parent_id WHERE NOT p.has_children LIMIT $1)
UNION ALL
(SELECT 'link_missing', c.id, p.id, NULL, NULL
 FROM windlass.job c CROSS JOIN LATERAL unnest(c.depends_on) AS named(id) JOIN windlass.job p ON p.id = named.id
 WHERE c.state = 'blocked' AND NOT EXISTS (SELECT FROM windlass.dependency d WHERE d.parent_id = p.id AND d.child_id = c.id) LIMIT $1)
UNION ALL
(SELECT 'waits_for', c.id, NULL, c.waits_for, links.n
 FROM windlass.job c CROSS JOIN LATERAL (SELECT count(*) AS n FROM windlass.dependency d WHERE d.child_id = c.id) links
 WHERE c.state = 'blocked' AND c.waits_for <> links.n LIMIT $1)
