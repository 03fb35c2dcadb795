-- bulk_hold_unfinished: of these unfinished jobs those that match still, locked; who is held by somebody else is passed by.
-- engine/jobs/bulk.py puts the filter for {where}.
-- params: id uuid[], then those of the conditions     returns: id, execution_id
-- Index: job primary key.
SELECT id, execution_id FROM windlass.job WHERE id = ANY ($1::uuid[]) AND {where} ORDER BY id FOR UPDATE SKIP LOCKED
