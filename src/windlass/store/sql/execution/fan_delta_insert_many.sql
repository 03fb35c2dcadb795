-- fan_delta_insert_many: note that items of fan-outs have ended.
-- params: execution_id uuid[], step text[], succeeded int4[], failed int4[]
-- Only appends: a hundred thousand items that end on many nodes never wait for one another.
INSERT INTO windlass.fan_delta (execution_id, step, succeeded, failed)
SELECT * FROM unnest($1::uuid[], $2::text[], $3::int4[], $4::int4[])
