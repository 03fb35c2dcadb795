-- dependency_insert_many: record who waits for whom.
-- params: parent_id uuid[], child_id uuid[]     returns: nothing
INSERT INTO windlass.dependency (parent_id, child_id)
SELECT parent_id, child_id FROM unnest($1::uuid[], $2::uuid[]) AS g(parent_id, child_id)
