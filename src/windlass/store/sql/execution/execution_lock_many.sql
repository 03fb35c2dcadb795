-- execution_lock_many: hold executions while their joins are decided.
-- params: id uuid[]     returns: id
-- Index: primary key. One order for everybody. Two steps that one join waits for may end at once on two nodes: the second to
-- come here sees what the first has done, because the statement after this one has a newer snapshot.
SELECT id FROM windlass.execution WHERE id = ANY ($1::uuid[]) ORDER BY id FOR NO KEY UPDATE
