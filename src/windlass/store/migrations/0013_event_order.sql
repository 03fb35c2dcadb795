-- 0013_event_order: what windlass.enqueue creates bears the time of the statement that does it, not of its transaction's begin.
-- Whoever follows events knows since when a transaction may have written something: since it got an id. One that began
-- long before its first write would create a job in a past that followers have left behind, and far from the time inside
-- the job's id. Nodes begin a transaction to write at once, and say themselves when a job was created.
ALTER TABLE windlass.job ALTER COLUMN created_at SET DEFAULT statement_timestamp();
