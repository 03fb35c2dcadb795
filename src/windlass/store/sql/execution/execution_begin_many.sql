-- execution_begin_many: let executions begin whose turn has come. Their time runs from now on.
-- params: id uuid[], timeout float8[] seconds (NULL: any time)     returns: nothing     Index: primary key; the caller holds the rows.
UPDATE windlass.execution e SET begun_at = clock_timestamp(), deadline = clock_timestamp() + g.timeout * interval '1 second'
FROM unnest($1::uuid[], $2::float8[]) AS g(id, timeout)
WHERE e.id = ANY (ARRAY[g.id])
