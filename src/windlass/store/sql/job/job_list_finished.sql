-- job_list_finished: job_list for those who ask only for terminal states: the hot table is not touched.
-- params: limit int4, then those of the conditions     returns: as job_get_many, without parked_at and detail
-- Index: job_history primary key read backwards, or the partial index that a condition names (dead, tags, execution).
SELECT {job.shown},
      finished_at, outcome, cause, result
FROM windlass.job_history WHERE {where} ORDER BY id DESC LIMIT $1
