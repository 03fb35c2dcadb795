-- link_drop: take away links whose parent has ended or whose child waits no more. For the doctor.
-- params: none     returns: parent_id, child_id
-- A link goes in the transaction that ends its parent, or the parent is in parent_end: one that is seen without is a leftover.
-- All links are looked at, and what belongs to each is looked up by its key, as in link_check.
DELETE FROM windlass.dependency d
WHERE (NOT EXISTS (SELECT FROM windlass.job p WHERE p.id = d.parent_id OFFSET 0)
       AND NOT EXISTS (SELECT FROM windlass.parent_end e WHERE e.parent_id = d.parent_id OFFSET 0))
   OR NOT EXISTS (SELECT FROM windlass.job c WHERE c.id = d.child_id AND c.state = 'blocked' OFFSET 0)
RETURNING d.parent_id, d.child_id
