-- schedule_former_list: the rules a schedule had before, newest first.
-- params: schedule_id uuid, most int4     returns: rule, since, until
-- Index: schedule_former primary key, read backward.
SELECT rule, since, until FROM windlass.schedule_former
WHERE schedule_id = $1
ORDER BY until DESC
LIMIT $2
