-- answer_get: what a request that makes no jobs was answered under this key.
-- params: owner text, key text     returns: body_hash, answer (NULL: there is none yet)
-- Index: idempotency primary key.
SELECT body_hash, answer FROM windlass.idempotency WHERE owner = $1 AND key = $2
