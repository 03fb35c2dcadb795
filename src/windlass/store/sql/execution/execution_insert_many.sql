-- execution_insert_many: accept executions.
-- params: id uuid[], workflow text[], version int4[], input text[], priority int2[], shard int2[], depth int2[],
--         has_conclusion bool[], timeout float8[] seconds, concurrency_key text[], concurrency_limit int4[],
--         parent_job_id uuid[], correlation_id text[], trace_id text[], owner text[], tags text[] (JSON arrays), is_begun bool[],
--         error text[] (of one that is not to run at all, and ends here: why; NULL: it runs, now or when its turn comes),
--         root_id uuid[] (the top of its tree; NULL: itself)
-- returns: id, created_at. One whose parent step has its child already is left out. Its time runs from when it begins.
INSERT INTO windlass.execution (
    id, workflow, version, input, priority, shard, depth, has_conclusion, deadline, concurrency_key, concurrency_limit,
    parent_job_id, correlation_id, trace_id, owner, tags, begun_at, state, finished_at, error, root_id)
SELECT g.id, g.workflow, g.version, g.input::json, coalesce(g.priority, 1), g.shard, coalesce(g.depth, 0),
       coalesce(g.has_conclusion, false), CASE WHEN g.is_begun THEN clock_timestamp() + g.timeout * interval '1 second' END,
       g.concurrency_key, g.concurrency_limit,
       g.parent_job_id, g.correlation_id, g.trace_id, g.owner,
       CASE WHEN g.tags IS NOT NULL THEN ARRAY(SELECT json_array_elements_text(g.tags::json)) END,
       CASE WHEN g.is_begun THEN clock_timestamp() END,
       CASE WHEN g.error IS NULL THEN 'pending' ELSE 'cancelled' END,
       CASE WHEN g.error IS NOT NULL THEN clock_timestamp() END, g.error::json, g.root_id
FROM unnest($1::uuid[], $2::text[], $3::int4[], $4::text[], $5::int2[], $6::int2[], $7::int2[], $8::bool[], $9::float8[],
            $10::text[], $11::int4[], $12::uuid[], $13::text[], $14::text[], $15::text[], $16::text[], $17::bool[], $18::text[],
            $19::uuid[])
    AS g(id, workflow, version, input, priority, shard, depth, has_conclusion, timeout, concurrency_key, concurrency_limit,
         parent_job_id, correlation_id, trace_id, owner, tags, is_begun, error, root_id)
ON CONFLICT DO NOTHING
RETURNING id, created_at
