-- job_gone_many: jobs that are parked for targets whose receivers answered 410 Gone so long ago, locked.
-- params: host text[], kept float8 seconds, most int4     returns: id, disabled_reason
-- Index: target primary key, job_parked_line. Each waits so long, and no less than its target has been gone: until then
-- somebody may enable it. Whom somebody has disabled keeps its jobs.
SELECT j.id, t.disabled_reason
FROM windlass.target t CROSS JOIN LATERAL (
    SELECT o.id FROM windlass.job o
    WHERE o.target = t.host AND o.parked_at IS NOT NULL AND o.parked_for NOT IN ('paused', 'lock')
      AND o.parked_at <= now() - $2 * interval '1 second'
    LIMIT $3
    FOR UPDATE SKIP LOCKED
) j
WHERE t.host = ANY ($1::text[]) AND NOT t.is_enabled AND t.gone_at = t.disabled_at
  AND t.gone_at <= now() - $2 * interval '1 second'
LIMIT $3
