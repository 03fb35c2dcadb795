-- step_open_items: is an item of these fan-outs unfinished, although the fan-out itself has ended?
-- params: execution_id uuid, step text[]     returns: step of one     Index: job_step.
SELECT step FROM windlass.job WHERE execution_id = $1 AND step = ANY ($2::text[]) AND item IS NOT NULL LIMIT 1
