-- key_free_many: take keys from jobs whose they are no more: their time is over, or a debounced job has started.
-- params: key text[], job_id uuid[]     returns: nothing
-- Index: job_key primary key. Sorted against deadlocks; a key that went to another job meanwhile stays with it.
WITH held AS MATERIALIZED (
    SELECT k.key FROM windlass.job_key k
    WHERE k.key = ANY ($1::text[]) AND (k.key, k.job_id) IN (SELECT * FROM unnest($1::text[], $2::uuid[]))
    ORDER BY k.key FOR UPDATE
)
DELETE FROM windlass.job_key k USING held WHERE k.key = ANY (ARRAY[held.key])
