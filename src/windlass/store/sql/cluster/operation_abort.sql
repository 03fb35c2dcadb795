-- operation_abort: ask for operations to be undone. One that no node has begun is over at once; a pause, resume or drain that
-- has begun is not called back: its opposite is asked for instead.
-- params: id uuid[]     returns: id of each that was ended or asked
-- Index: operation primary key.
UPDATE windlass.operation
SET is_abort_asked = true, changed_at = clock_timestamp(),
    phase = CASE phase WHEN 'pending' THEN 'rolled_back' ELSE phase END,
    reason = CASE phase WHEN 'pending' THEN 'aborted before it began' ELSE reason END,
    ended_at = CASE phase WHEN 'pending' THEN clock_timestamp() END
WHERE id = ANY ($1::uuid[]) AND ended_at IS NULL AND (kind = 'resize' OR phase = 'pending')
RETURNING id
