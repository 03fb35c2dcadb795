-- partition_uncount: take the jobs of one day out of the counters, before the day is dropped.
-- params: none; engine/retain.py puts the partition's name in the place of {partition}
INSERT INTO windlass.counter_delta (queue, succeeded, dead, cancelled, expired, skipped)
SELECT queue, -count(*) FILTER (WHERE state = 'succeeded'), -count(*) FILTER (WHERE state = 'dead'),
       -count(*) FILTER (WHERE state = 'cancelled'), -count(*) FILTER (WHERE state = 'expired'),
       -count(*) FILTER (WHERE state = 'skipped')
FROM {partition} GROUP BY queue
