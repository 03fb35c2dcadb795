-- partition_unnote: forget the progress of one day's jobs, before the day is dropped.
-- params: none; engine/retain.py puts the partition's name in the place of {partition}
DELETE FROM windlass.job_progress n USING {partition} p WHERE n.job_id = p.id
