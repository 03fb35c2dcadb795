-- firing_made_of: which of these instants have made something.
-- params: schedule_id uuid, instant timestamptz[]     returns: instant
-- Index: firing primary key.
SELECT instant FROM windlass.firing
WHERE schedule_id = $1 AND instant = ANY ($2::timestamptz[]) AND state IN ('fired', 'late')
