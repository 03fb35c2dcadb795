-- execution_end_many: write how executions have ended.
-- params: id uuid[], state text[], finished_at timestamptz[], started_at timestamptz[], counts text[], output text[], error text[]
-- returns: id, state of every row
-- Index: primary key. The caller holds the rows and has seen that none of their jobs is unfinished; refreshes of an older
-- snapshot lose by refresh_seq.
UPDATE windlass.execution e
SET state = g.state, finished_at = g.finished_at, started_at = g.started_at, counts = g.counts::json, output = g.output::json,
    error = g.error::json, refresh_seq = e.refresh_seq + 1, refreshed_at = clock_timestamp()
FROM unnest($1::uuid[], $2::text[], $3::timestamptz[], $4::timestamptz[], $5::text[], $6::text[], $7::text[])
    AS g(id, state, finished_at, started_at, counts, output, error)
WHERE e.id = ANY (ARRAY[g.id])
RETURNING e.id, e.state
