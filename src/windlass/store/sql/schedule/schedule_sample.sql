-- schedule_sample: schedules by name after a name, with how far their ledger is complete.
-- params: after text, most int4     returns: id, name, created_at, changed_at, last_at, rule
-- Index: schedule_name_key.
SELECT id, name, created_at, changed_at, last_at, rule FROM windlass.schedule
WHERE name > $1 AND last_at IS NOT NULL
ORDER BY name
LIMIT $2
