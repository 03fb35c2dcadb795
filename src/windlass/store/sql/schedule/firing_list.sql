-- firing_list: what became of the instants of a schedule, newest first.
-- params: schedule_id uuid, before timestamptz (NULL: from the newest), state text[] (NULL: any), most int4
-- returns: the rows
-- Index: firing primary key, read backward.
SELECT * FROM windlass.firing
WHERE schedule_id = $1 AND ($2::timestamptz IS NULL OR instant < $2) AND ($3::text[] IS NULL OR state = ANY ($3::text[]))
ORDER BY instant DESC
LIMIT $4
