-- 0013_event_order: what is created bears the time of the statement that does it, not of its transaction's begin.
-- Whoever follows events knows since when a transaction may have written something: since it got an id. One that began
-- long before its first write would create a job in a past that followers have left behind.
ALTER TABLE windlass.job ALTER COLUMN created_at SET DEFAULT statement_timestamp();
ALTER TABLE windlass.execution ALTER COLUMN created_at SET DEFAULT statement_timestamp();
