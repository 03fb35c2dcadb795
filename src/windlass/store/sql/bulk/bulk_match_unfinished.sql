-- bulk_match_unfinished: of these unfinished jobs those that match, whoever holds them.
-- params: id uuid[], then those of the conditions     returns: id
-- Index: job primary key.
SELECT id FROM windlass.job WHERE id = ANY ($1::uuid[]) AND {where}
