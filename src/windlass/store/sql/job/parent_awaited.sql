-- parent_awaited: which jobs made before an instant are parents of jobs that wait.
-- params: before uuid (the lowest id of that instant), most int4     returns: id
-- Index: none: a look at the whole of `job`, when a day of the history goes.
SELECT DISTINCT named.id
FROM windlass.job c CROSS JOIN LATERAL unnest(c.depends_on) AS named(id)
WHERE c.state = 'blocked' AND named.id < $1::uuid LIMIT $2
