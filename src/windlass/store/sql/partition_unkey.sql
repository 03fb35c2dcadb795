-- partition_unkey: free the unique keys of one day's jobs, before the day is dropped.
-- params: none; engine/retain.py puts the partition's name in the place of {partition}
DELETE FROM windlass.job_key k USING {partition} p WHERE p.key IS NOT NULL AND k.key = p.key AND k.job_id = p.id
