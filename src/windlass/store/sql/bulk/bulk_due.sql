-- bulk_due: in how many seconds the next batch of any bulk operation is due (0 or less: now).
-- params: none     returns: seconds; nothing when none is open
-- Index: bulk_open, its first row.
SELECT extract(epoch FROM next_at - clock_timestamp())::float8 AS seconds
FROM windlass.bulk WHERE ended_at IS NULL ORDER BY next_at LIMIT 1
