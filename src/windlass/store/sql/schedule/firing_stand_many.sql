-- firing_stand_many: for how many instants rows of the ledger stand, now that some of these have rows of their own.
-- params: schedule_id uuid, instant timestamptz[], stands_for int4[], state text[], reason text[]
-- returns: nothing
-- Index: firing primary key. A row that is not there yet is the newest of those that still have none: it stands for them,
-- with the state and the reason of the row that did before.
INSERT INTO windlass.firing (schedule_id, instant, state, reason, stands_for)
SELECT $1::uuid, instant, state, reason, stands_for
FROM unnest($2::timestamptz[], $3::int4[], $4::text[], $5::text[]) AS g(instant, stands_for, state, reason)
ON CONFLICT (schedule_id, instant) DO UPDATE SET stands_for = excluded.stands_for
