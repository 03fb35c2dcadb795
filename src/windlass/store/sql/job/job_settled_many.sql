-- job_settled_many: which of these settlements took effect. Resolves a finish whose commit is unknown.
-- params: id uuid[], attempt int4[], claim_id uuid[], outcome text[]     returns: id, state
-- Index: job_history and attempt primary keys. The outcome tells our own word from that of a rescue, which ends the attempt of
-- a lost node under the same fence; a cancel overrules the outcome. `awaited` is no end: what its receiver, or the end of
-- its patience, made of it since tells that it took effect.
SELECT h.id, h.state
FROM unnest($1::uuid[], $2::int4[], $3::uuid[], $4::text[]) AS s(id, attempt, claim_id, outcome)
JOIN windlass.job_history h ON h.id = s.id AND h.attempt = s.attempt AND h.claim_id = s.claim_id
WHERE h.outcome = s.outcome OR h.cancel_requested_at IS NOT NULL OR (s.outcome = 'awaited' AND h.callback_hash IS NOT NULL)
UNION ALL
SELECT a.job_id, 'queued'
FROM unnest($1::uuid[], $2::int4[], $3::uuid[], $4::text[]) AS s(id, attempt, claim_id, outcome)
JOIN windlass.attempt a ON a.job_id = s.id AND a.attempt = s.attempt AND a.claim_id = s.claim_id
WHERE a.outcome = s.outcome OR (s.outcome = 'awaited' AND a.outcome IN ('failed', 'timed_out'))
