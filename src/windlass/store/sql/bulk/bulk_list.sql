-- bulk_list: bulk operations, newest first.
-- params: before uuid (NULL: from the newest), verb text[] (NULL: any), phase text[] (NULL: in any), count int4
-- returns: the rows
-- Index: bulk primary key, read backward; they are forgotten after a week, so there are never many.
SELECT * FROM windlass.bulk
WHERE ($1::uuid IS NULL OR id < $1) AND ($2::text[] IS NULL OR verb = ANY ($2)) AND ($3::text[] IS NULL OR phase = ANY ($3))
ORDER BY id DESC
LIMIT $4
