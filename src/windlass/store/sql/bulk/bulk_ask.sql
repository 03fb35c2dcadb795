-- bulk_ask: enter a bulk operation, and the jobs that it was asked for by id, unless too many are open.
-- params: id uuid, verb text, filter text (JSON), named int4 (NULL: by the filter), matching int8, is_exact bool, most int8,
--         rate float8 (NULL: no bound), round int4, asked_by text, job_id uuid[], open_max int4
-- returns: the row; nothing when too many are open
-- Index: bulk primary key, bulk_open. Two who ask at once may pass the bound by one: it is there for who asks for ever.
WITH entered AS (
    INSERT INTO windlass.bulk (id, verb, filter, named, matching, is_exact, most, rate, round, asked_by)
    SELECT $id, $verb, $filter::json, $named, $matching, $is_exact, $most, $rate, $round, $asked_by
    WHERE (SELECT count(*) FROM (SELECT FROM windlass.bulk WHERE ended_at IS NULL LIMIT $open_max) o) < $open_max
    RETURNING *
), listed AS (
    INSERT INTO windlass.bulk_job (bulk_id, job_id)
    SELECT e.id, j FROM entered e CROSS JOIN LATERAL (SELECT DISTINCT unnest($job_id::uuid[]) AS j) named
)
SELECT * FROM entered
