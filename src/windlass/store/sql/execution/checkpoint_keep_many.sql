-- checkpoint_keep_many: keep what durable functions have done, many functions at a time.
-- params: job_id uuid[], attempt int4[], claim_id uuid[], branch text[], place int4[], name text[], kind text[],
--         rest float8[] seconds (NULL: it has no end), result text[]
-- returns: job_id, branch, place of every row written, and left float8, the seconds until it is over (NULL: no end)
-- Index: job primary key, checkpoint primary key. The fence is in the join: what an attempt that is not the newest any more
-- says is not written. A row is locked nowhere, so a late word may still get in while its job is being rescued; that does no
-- harm, because a place is written once: whoever comes second is not returned, and reads what stands there.
-- `must_be` as in job_end_many.
INSERT INTO windlass.checkpoint AS c (job_id, branch, place, name, kind, until, result, attempt)
SELECT g.job_id, g.branch, g.place, g.name, g.kind, clock_timestamp() + g.rest * interval '1 second', g.result::json, g.attempt
FROM (SELECT *, 'running' AS must_be
      FROM unnest($1::uuid[], $2::int4[], $3::uuid[], $4::text[], $5::int4[], $6::text[], $7::text[], $8::float8[], $9::text[])
          AS u(job_id, attempt, claim_id, branch, place, name, kind, rest, result)
      OFFSET 0) g
JOIN windlass.job j ON j.id = ANY (ARRAY[g.job_id])
WHERE j.claim_id = g.claim_id AND j.attempt = g.attempt AND j.state = g.must_be
ON CONFLICT (job_id, branch, place) DO NOTHING
RETURNING c.job_id, c.branch, c.place, extract(epoch FROM c.until - clock_timestamp())::float8 AS left
