-- fan_expanded: so many more items of a fan-out are there.
-- params: execution_id uuid, step text, count int4, queue text, priority int2
-- returns: queue, priority, run_at: the line in which they stand     Index: primary key; the caller holds the row.
UPDATE windlass.fan SET expanded = expanded + $3 WHERE execution_id = $1 AND step = $2
RETURNING $4::text AS queue, $5::int2 AS priority, clock_timestamp() AS run_at
