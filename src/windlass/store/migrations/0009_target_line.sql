-- 0009_target_line: who of a target's line may go, and which targets are gone for good.

-- A job of a paused queue cannot go, and stands in front of nobody: each queue of a target's line is entered by itself.
CREATE INDEX job_parked_queue ON windlass.job (target, queue, priority DESC, run_at)
    WHERE parked_at IS NOT NULL AND parked_for NOT IN ('paused', 'lock');

-- When its receiver answered 410 Gone. It counts while it is when the target was disabled: whoever enables or disables it
-- afterwards has another mind.
ALTER TABLE windlass.target ADD COLUMN gone_at timestamptz;
UPDATE windlass.target SET gone_at = disabled_at WHERE NOT is_enabled AND disabled_reason = 'the receiver answered 410 Gone';

-- A job that waits for a target that is gone ends without a further attempt: from `queued` to `dead`. Weaker than what it
-- replaces, so there is nothing to look for among the rows.
ALTER TABLE windlass.job_history DROP CONSTRAINT job_history_moves;
ALTER TABLE windlass.job_history ADD CONSTRAINT job_history_moves CHECK (
    CASE
        WHEN claim_id IS NOT NULL THEN state IN ('succeeded', 'dead', 'cancelled')
        WHEN waits_for > 0 THEN state IN ('cancelled', 'expired', 'skipped', 'dead')
        ELSE state IN ('cancelled', 'expired', 'dead')
    END) NOT VALID;
