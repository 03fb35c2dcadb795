-- schedule_due_lock: schedules whose time has come, the most overdue first, locked until the caller's commit.
-- params: most int4     returns: the rows, and now
-- Index: schedule_due, from its left end. What another leader has in hand is passed over: two who believe that they lead
-- share the work instead of waiting for each other.
SELECT id, name, created_at, next_at, fire_at, last_at, resumed_at, catchup, overlap, misfire, priority, owner,
       rule, job, workflow, now() AS now
FROM windlass.schedule
WHERE paused_at IS NULL AND fire_at <= now()
ORDER BY fire_at
LIMIT $1
FOR UPDATE SKIP LOCKED
