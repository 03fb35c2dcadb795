-- bulk_step: what a batch came to: where the operation is now, what it has counted, when its next batch is due.
-- params: id uuid, phase text, round int4, cursor uuid, looked int8, done int8, refused int8, gone int8 (added to each), held int8,
--         left_jobs text (JSON), reason text, next_at timestamptz (or in `rest` seconds if that is later), rest float8,
--         off_list uuid[] (jobs that it need not come to again), on_list uuid[] (that somebody held)
-- returns: nothing
-- Index: primary keys. The caller holds the row.
WITH off AS (
    DELETE FROM windlass.bulk_job WHERE bulk_id = $id AND job_id = ANY ($off_list::uuid[])
), listed AS (
    INSERT INTO windlass.bulk_job (bulk_id, job_id) SELECT $id, j FROM unnest($on_list::uuid[]) j
)
UPDATE windlass.bulk
SET phase = $phase, round = $round, cursor = $cursor, looked = looked + $looked, done = done + $done,
    refused = refused + $refused, gone = gone + $gone, held = $held, left_jobs = $left_jobs::json, reason = $reason,
    changed_at = clock_timestamp(), next_at = greatest($next_at, clock_timestamp() + $rest * interval '1 second'),
    ended_at = CASE WHEN $phase IN ('done', 'aborted') THEN clock_timestamp() END
WHERE id = $id
