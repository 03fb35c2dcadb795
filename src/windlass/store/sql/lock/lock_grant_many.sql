-- lock_grant_many: give waiters all the locks they wait for; jobs among them may start.
-- params: waiter uuid[], again float8 (seconds)     The caller holds the rows of the locks and has counted what is free.
-- returns: of every job id, queue, priority, run_at, parked_for (`paused`: its execution is, it has its locks, and takes its limits when that goes on); of every
-- caller its ticket as id, and the lock
-- Index: job and lock primary keys, lock_wait_waiter. A job that somebody else has in hand is skipped, never waited for: who ends
-- it comes for these locks next. A ticket that has its hold already (it came twice) leaves the wait list and gets no second one. If it does not end, `look_at` brings it another look. Whether its execution is paused is
-- asked once its row is locked (execution_is_paused sees what was committed by then).
WITH going AS MATERIALIZED (
    SELECT j.id, j.execution_id FROM windlass.job j
    WHERE j.id = ANY ($1::uuid[]) AND j.state = 'queued' AND j.parked_for = 'lock'
    FOR UPDATE SKIP LOCKED
), turn AS MATERIALIZED (
    SELECT going.id, paused.it_is FROM going CROSS JOIN LATERAL (
        SELECT CASE WHEN going.execution_id IS NOT NULL THEN windlass.execution_is_paused(going.execution_id) END AS it_is OFFSET 0) paused
), passed AS (
    DELETE FROM windlass.lock_wait w
    WHERE w.waiter = ANY ($1::uuid[]) AND (w.until IS NOT NULL OR w.waiter IN (SELECT going.id FROM going))
    RETURNING w.lock, w.waiter, w.until, w.ttl_seconds, w.owner
), missed AS (
    UPDATE windlass.lock_wait w SET look_at = clock_timestamp() + $2::float8 * interval '1 second'
    FROM (SELECT o.lock, o.waiter FROM windlass.lock_wait o
          WHERE o.waiter = ANY ($1::uuid[]) AND o.until IS NULL AND o.waiter NOT IN (SELECT going.id FROM going)
          FOR NO KEY UPDATE SKIP LOCKED) free
    WHERE w.lock = ANY (ARRAY[free.lock]) AND w.waiter = ANY (ARRAY[free.waiter])
), held AS (
    INSERT INTO windlass.lock_hold (lock, token, job_id, ticket, owner, expires_at)
    SELECT p.lock, nextval('windlass.lock_token'), CASE WHEN p.until IS NULL THEN p.waiter END,
           CASE WHEN p.until IS NOT NULL THEN p.waiter END, p.owner, clock_timestamp() + p.ttl_seconds * interval '1 second'
    FROM passed p LEFT JOIN turn ON turn.id = p.waiter
    WHERE CASE WHEN p.until IS NULL THEN turn.it_is IS NOT TRUE OR p.lock NOT LIKE 'limit/%' ELSE NOT EXISTS (SELECT FROM windlass.lock_hold h WHERE h.ticket = p.waiter) END
    RETURNING lock, token, job_id, ticket
), newest AS (
    UPDATE windlass.lock l
    SET token = n.token, changed_at = clock_timestamp(),
        rate_due_at = CASE WHEN l.rate IS NOT NULL THEN windlass.rate_due_after(l.rate, l.rate_due_at, clock_timestamp(), n.count) END
    FROM (SELECT h.lock, max(h.token) AS token, count(*) AS count FROM held h GROUP BY h.lock) n WHERE l.name = n.lock
), moved AS (
    UPDATE windlass.job j
    SET parked_at = CASE WHEN turn.it_is THEN clock_timestamp() END, parked_for = CASE WHEN turn.it_is THEN 'paused' END
    FROM turn WHERE j.id = ANY (ARRAY[turn.id])
    RETURNING j.id, j.queue, j.priority, j.run_at, j.parked_for
)
SELECT m.id, NULL AS lock, m.queue, m.priority, m.run_at, m.parked_for FROM moved m
UNION ALL
SELECT h.ticket, h.lock, NULL, NULL, NULL, NULL FROM held h WHERE h.ticket IS NOT NULL
