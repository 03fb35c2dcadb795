-- step_hold_waiting: hold steps that wait, so that none ends while its child begins or its signal is given to it.
-- params: id uuid[]     returns: id of those that wait     Index: job primary key.
SELECT id FROM windlass.job WHERE id = ANY ($1::uuid[]) AND callback_until IS NOT NULL ORDER BY id FOR UPDATE
