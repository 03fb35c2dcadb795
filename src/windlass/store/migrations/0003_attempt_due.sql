-- 0003_attempt_due: when an attempt had been due. A retry overwrites the job's run_at; without this
-- the job could not be shown as it was before its first retry (G10).
ALTER TABLE windlass.attempt ADD COLUMN due_at timestamptz;
