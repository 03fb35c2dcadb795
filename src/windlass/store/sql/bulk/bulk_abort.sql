-- bulk_abort: end a bulk operation now. Whoever works on it holds its row until its batch is committed, so nothing follows.
-- params: id uuid     returns: id; nothing when it has ended
-- Index: bulk primary key.
UPDATE windlass.bulk
SET phase = 'aborted', reason = 'aborted', changed_at = clock_timestamp(), ended_at = clock_timestamp()
WHERE id = $1 AND ended_at IS NULL
RETURNING id
