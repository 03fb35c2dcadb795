-- link_add: link blocked children again to the unfinished parents they name, and mark those parents. For the doctor.
-- params: child_id uuid[]     returns: parent_id, child_id
-- Parents and children are locked by the caller, so none of them ends meanwhile. By keys whatever the statistics say, as in link_check.
WITH added AS (
    INSERT INTO windlass.dependency (parent_id, child_id)
    SELECT DISTINCT named.id, c.id
    FROM windlass.job c CROSS JOIN LATERAL unnest(c.depends_on) AS named(id)
    WHERE c.id = ANY ($1::uuid[]) AND c.state = 'blocked'
      AND EXISTS (SELECT FROM windlass.job p WHERE p.id = named.id OFFSET 0)
    ON CONFLICT DO NOTHING
    RETURNING parent_id, child_id
), marked AS (
    UPDATE windlass.job p SET has_children = true
    WHERE NOT p.has_children
      AND (p.id IN (SELECT parent_id FROM added) OR p.id IN (SELECT parent_id FROM windlass.dependency WHERE child_id = ANY ($1::uuid[])))
)
SELECT parent_id, child_id FROM added
