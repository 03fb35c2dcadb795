-- approval_hold: one decision, held to the end of the transaction.
-- params: id uuid     returns: the row, and `is_waiting`: its step still waits for it
-- Index: primary keys.
SELECT a.*, EXISTS (SELECT FROM windlass.job j WHERE j.id = a.job_id AND j.callback_until IS NOT NULL) AS is_waiting
FROM windlass.approval a WHERE a.id = $1 FOR UPDATE OF a
