-- job_await_many: leave running jobs to their receivers, who say later how they ended.
-- params: id uuid[], attempt int4[], claim_id uuid[], patience float8[] seconds, token_hash bytea[], detail text[]
-- returns: id of every row that waits now, also of those that had done so before under the same token (a commit whose answer
-- was lost); a row whose fence moved on, or that somebody asked to cancel, is left alone
-- Index: job primary key. `must_be` as in job_end_many. The delivery is over: its pass is given back to its target. What it
-- left on record waits in the event until the job goes on, since the job's own row has no column for it.
WITH moved AS (
    UPDATE windlass.job j
    SET callback_until = coalesce(j.callback_until, clock_timestamp() + s.patience * interval '1 second'),
        callback_hash = s.token_hash, has_pass = false
    FROM (SELECT *, 'running' AS must_be
          FROM unnest($1::uuid[], $2::int4[], $3::uuid[], $4::float8[], $5::bytea[], $6::text[])
              AS g(id, attempt, claim_id, patience, token_hash, detail)
          OFFSET 0) s
    JOIN windlass.job was ON was.id = ANY (ARRAY[s.id])
    WHERE j.id = ANY (ARRAY[s.id]) AND j.claim_id = s.claim_id AND j.attempt = s.attempt AND j.state = s.must_be
      AND j.cancel_requested_at IS NULL AND (j.callback_until IS NULL OR j.callback_hash = s.token_hash)
    RETURNING j.id, j.attempt, j.callback_until, s.detail, was.callback_until IS NULL AS is_new
), noted AS (
    INSERT INTO windlass.event (noun, subject, job_id, type, data)
    SELECT 'job', replace(m.id::text, '-', ''), m.id, 'awaited',
           json_build_object('attempt', m.attempt, 'until', m.callback_until, 'detail', m.detail::json)
    FROM moved m WHERE m.is_new
)
SELECT id FROM moved
