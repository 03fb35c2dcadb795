-- link_recount: set what blocked jobs wait for to the links they have; one without links is queued. For the doctor.
-- params: child_id uuid[]     returns: id, state, queue, priority, run_at, parked_for (`lock`: the caller takes it into the wait lists)
-- A child whose parent ended without success, and whose `on_parent_failure` is not to run, is left as it is: somebody must decide.
WITH counted AS (
    SELECT c.id, c.run_at, (SELECT count(*) FROM windlass.dependency d WHERE d.child_id = c.id)::int4 AS n
    FROM windlass.job c
    WHERE c.id = ANY ($1::uuid[]) AND c.state = 'blocked'
), moved AS (
    UPDATE windlass.job c
    SET waits_for = counted.n, state = CASE counted.n WHEN 0 THEN 'queued' ELSE 'blocked' END,
        run_at = CASE counted.n WHEN 0 THEN greatest(c.run_at, clock_timestamp()) ELSE c.run_at END,
        parked_at = CASE WHEN counted.n = 0 AND c.locks IS NOT NULL THEN clock_timestamp() END,
        parked_for = CASE WHEN counted.n = 0 AND c.locks IS NOT NULL THEN 'lock' END
    FROM counted
    WHERE c.id = counted.id AND c.waits_for <> counted.n
      AND (counted.n > 0 OR c.on_parent_failure = 'run' OR NOT EXISTS (
          SELECT FROM windlass.job_history h WHERE h.id = ANY (c.depends_on) AND h.state <> 'succeeded'))
    RETURNING c.id, c.state, c.queue, c.priority, c.run_at, c.parked_for, counted.run_at AS from_run_at
), noted AS (
    INSERT INTO windlass.event (noun, subject, job_id, type, data)
    SELECT 'job', replace(m.id::text, '-', ''), m.id, 'unblocked',
           json_build_object('run_at', m.run_at, 'from_run_at', m.from_run_at, 'by', 'doctor')
    FROM moved m WHERE m.state = 'queued'
)
SELECT id, state, queue, priority, run_at, parked_for FROM moved
