-- answer_forget: give a key back whose request was refused, so that it may be sent again.
-- params: owner text, key text, body_hash bytea     returns: key if it was given back
-- Index: idempotency primary key. One that has an answer, or jobs, is not ours to give back.
DELETE FROM windlass.idempotency
WHERE owner = $1 AND key = $2 AND body_hash = $3 AND answer IS NULL AND job_ids = '{}'
RETURNING key
