-- operation_list: operations, newest first.
-- params: before uuid (NULL: from the newest), node_id uuid (NULL: of all nodes), phase text[] (NULL: in any), count int4
-- returns: the rows
-- Index: operation primary key, read backward; they are forgotten after a week, so there are never many.
SELECT * FROM windlass.operation
WHERE ($1::uuid IS NULL OR id < $1) AND ($2::uuid IS NULL OR node_id = $2) AND ($3::text[] IS NULL OR phase = ANY ($3))
ORDER BY id DESC
LIMIT $4
