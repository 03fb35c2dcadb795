-- job_settled_many: which of these settlements took effect. Resolves a finish whose commit is unknown.
-- params: id uuid[], attempt int4[], claim_id uuid[], outcome text[]     returns: id, state
-- Index: job_history and attempt primary keys. The outcome tells our own word from that of a rescue, which ends the attempt of
-- a lost node under the same fence; a cancel overrules the outcome.
SELECT h.id, h.state
FROM unnest($1::uuid[], $2::int4[], $3::uuid[], $4::text[]) AS s(id, attempt, claim_id, outcome)
JOIN windlass.job_history h ON h.id = s.id AND h.attempt = s.attempt AND h.claim_id = s.claim_id
WHERE h.outcome = s.outcome OR h.cancel_requested_at IS NOT NULL
UNION ALL
SELECT a.job_id, 'queued'
FROM unnest($1::uuid[], $2::int4[], $3::uuid[], $4::text[]) AS s(id, attempt, claim_id, outcome)
JOIN windlass.attempt a ON a.job_id = s.id AND a.attempt = s.attempt AND a.claim_id = s.claim_id AND a.outcome = s.outcome
