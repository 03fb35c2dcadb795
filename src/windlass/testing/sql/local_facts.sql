-- local_facts: what there is to do now, when there is more, and a mark that changes with everything that moves.
-- params: none     returns: one row: now, held (attempts that nodes run), has_due_job (something may hold it back),
-- has_due_schedule, has_overdue (deadlines, callbacks and locks whose time has come), has_webhook (an unfinished one),
-- executions uuid[] (unfinished), next_at (NULL: time alone brings nothing), mark text
-- Index: none is needed; a test's tables are small. The mark counts rather than remembers: whatever runs raises an attempt,
-- and whatever ends changes its table. A durable function that waits for a signal looks again every so often, in case a hint
-- got lost: here none does, so when it is next due is when what it waits for is over.
WITH clock AS MATERIALIZED (
    SELECT clock_timestamp() AS now
), listening AS MATERIALIZED (
    SELECT j.id FROM windlass.job j
    WHERE j.state = 'queued' AND EXISTS (SELECT FROM windlass.checkpoint c WHERE c.job_id = j.id AND c.is_open)
      AND (SELECT a.outcome FROM windlass.attempt a WHERE a.job_id = j.id ORDER BY a.attempt DESC LIMIT 1) = 'snoozed'
), coming AS MATERIALIZED (
    SELECT j.run_at AS at FROM windlass.job j
    WHERE j.state = 'queued' AND j.parked_at IS NULL AND j.id NOT IN (SELECT l.id FROM listening l)
    UNION ALL SELECT c.until FROM windlass.checkpoint c WHERE c.job_id IN (SELECT l.id FROM listening l)
    UNION ALL SELECT j.deadline FROM windlass.job j WHERE j.state IN ('queued', 'blocked')
    UNION ALL SELECT j.callback_until FROM windlass.job j
    UNION ALL SELECT s.fire_at FROM windlass.schedule s WHERE s.paused_at IS NULL
    UNION ALL SELECT e.deadline FROM windlass.execution e WHERE e.finished_at IS NULL
    UNION ALL SELECT h.expires_at FROM windlass.lock_hold h
    UNION ALL SELECT least(w.look_at, w.until) FROM windlass.lock_wait w
    UNION ALL SELECT t.open_until FROM windlass.target t
    UNION ALL SELECT q.rate_free_at FROM windlass.queue q
              WHERE q.rate IS NOT NULL AND EXISTS (SELECT FROM windlass.job j WHERE j.queue = q.name AND j.state = 'queued')
)
SELECT clock.now,
       (SELECT count(*) FROM windlass.job j WHERE j.state = 'running' AND j.node_id IS NOT NULL AND j.callback_until IS NULL) AS held,
       EXISTS (SELECT FROM windlass.job j WHERE j.state = 'queued' AND j.parked_at IS NULL AND j.run_at <= clock.now) AS has_due_job,
       EXISTS (SELECT FROM windlass.schedule s WHERE s.paused_at IS NULL AND s.fire_at <= clock.now) AS has_due_schedule,
       EXISTS (SELECT FROM windlass.job j WHERE j.state IN ('queued', 'blocked') AND j.deadline <= clock.now)
           OR EXISTS (SELECT FROM windlass.job j WHERE j.callback_until <= clock.now)
           OR EXISTS (SELECT FROM windlass.lock_hold h WHERE h.expires_at <= clock.now)
           OR EXISTS (SELECT FROM windlass.lock_wait w WHERE least(w.look_at, w.until) <= clock.now) AS has_overdue,
       EXISTS (SELECT FROM windlass.job j WHERE j.target IS NOT NULL) AS has_webhook,
       ARRAY(SELECT e.id FROM windlass.execution e WHERE e.finished_at IS NULL) AS executions,
       (SELECT min(c.at) FROM coming c WHERE c.at > clock.now AND c.at < 'infinity') AS next_at,
       concat_ws(' ',
           (SELECT concat_ws(',', count(*), sum(j.attempt), sum(j.waits_for), count(j.started_at), count(j.node_id), count(j.parked_at),
                             count(j.callback_until), count(j.cancel_requested_at)) FROM windlass.job j),
           (SELECT count(*) FROM windlass.job_history),
           (SELECT count(*) FROM windlass.firing),
           (SELECT concat_ws(',', count(*), count(e.begun_at), count(e.finished_at), count(e.doom), count(e.cancel_requested_at))
            FROM windlass.execution e),
           (SELECT concat_ws(',', count(*), count(a.decided_at)) FROM windlass.approval a),
           (SELECT concat_ws(',', count(*), sum(f.expanded)) FROM windlass.fan f),
           (SELECT count(*) FROM windlass.lock_hold), (SELECT count(*) FROM windlass.lock_wait)) AS mark
FROM clock
