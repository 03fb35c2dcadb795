-- firing_forget: remove what is older than the retention from the ledger, and rules that are older still.
-- params: retention_days int4, most int4     returns: forgotten
-- Index: firing_age finds the pages. What a schedule has made and what has not ended stays: its overlap asks for it;
-- and so does what somebody holds, until the next round.
WITH old AS MATERIALIZED (
    SELECT f.ctid FROM windlass.firing f
    WHERE f.fired_at < now() - $1::int4 * interval '1 day'
      AND NOT EXISTS (SELECT FROM windlass.job j WHERE j.id = f.job_id)
      AND NOT EXISTS (SELECT FROM windlass.execution e WHERE e.id = f.execution_id AND e.finished_at IS NULL)
    LIMIT $2
    FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM windlass.firing WHERE ctid = ANY (ARRAY(SELECT ctid FROM old)) RETURNING 1
), former AS (
    DELETE FROM windlass.schedule_former WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM windlass.schedule_former WHERE until < now() - $1::int4 * interval '1 day' FOR UPDATE SKIP LOCKED))
)
SELECT count(*) AS forgotten FROM gone
