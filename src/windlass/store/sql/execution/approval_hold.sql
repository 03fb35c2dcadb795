-- approval_hold: one decision, held to the end of the transaction.
-- params: id uuid     returns: the row, and `is_waiting`: its step still waits for it
-- Index: primary keys.
SELECT a.*, coalesce((SELECT j.callback_until IS NOT NULL FROM windlass.job j WHERE j.id = a.job_id), false) AS is_waiting
FROM windlass.approval a WHERE a.id = $1 FOR UPDATE OF a
