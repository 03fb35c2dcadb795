-- link_drop: take away links whose parent has ended or whose child waits no more. For the doctor.
-- params: none     returns: parent_id, child_id
-- A link goes in the transaction that ends its parent, or the parent is in parent_end: one that is seen without is a leftover.
DELETE FROM windlass.dependency d
WHERE (NOT EXISTS (SELECT FROM windlass.job p WHERE p.id = d.parent_id)
       AND NOT EXISTS (SELECT FROM windlass.parent_end e WHERE e.parent_id = d.parent_id))
   OR NOT EXISTS (SELECT FROM windlass.job c WHERE c.id = d.child_id AND c.state = 'blocked')
RETURNING d.parent_id, d.child_id
