-- target_changed: targets that changed after an instant, or at it and come after a host: the next page of many.
-- params: changed_at timestamptz, host text, most int4     returns: the rows, in the order in which they changed
-- Index: target_changed.
SELECT t.* FROM windlass.target t
WHERE t.changed_at >= $1 AND (t.changed_at, t.host) > ($1, $2)
ORDER BY t.changed_at, t.host
LIMIT $3
