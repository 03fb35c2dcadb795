-- bulk_get: a bulk operation.
-- params: id uuid     returns: the row, or nothing
-- Index: bulk primary key.
SELECT * FROM windlass.bulk WHERE id = $1
