-- job_list_unfinished: job_list for those who ask only for states of unfinished jobs: the history is not touched.
-- params: limit int4, then those of the conditions     returns: as job_get_many, without parked_at and detail
-- Index: job primary key read backwards, or the partial index that a condition names.
SELECT {job.shown},
      NULL::timestamptz AS finished_at, NULL AS outcome, NULL AS cause, NULL::json AS result
FROM windlass.job WHERE {where} ORDER BY id DESC LIMIT $1
