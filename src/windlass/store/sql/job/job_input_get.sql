-- job_input_get: the input of an unfinished job.
-- params: id uuid     returns: input     Index: primary key.
SELECT input FROM windlass.job WHERE id = $1
