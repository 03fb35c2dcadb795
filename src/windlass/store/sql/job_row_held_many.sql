-- job_row_held_many: which of these jobs' rows does somebody hold just now?
-- params: id uuid[]     returns: id
-- Index: job primary key. Asked only after a batch had to wait: it locks what is free for the length of this statement, and
-- waits for nobody.
WITH free AS MATERIALIZED (
    SELECT id FROM windlass.job WHERE id = ANY ($1::uuid[]) FOR UPDATE SKIP LOCKED
)
SELECT id FROM windlass.job WHERE id = ANY ($1::uuid[]) AND id NOT IN (SELECT id FROM free)
