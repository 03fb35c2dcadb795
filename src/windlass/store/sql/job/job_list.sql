-- job_list: one page of jobs, newest first. engine/jobs/read.py puts the asked-for conditions for {where}.
-- params: limit int4, then those of the conditions     returns: as job_get_many, without parked_at and detail
-- Index: both primary keys read backwards and merged, or the partial index that a condition names (dead, tags, execution).
(SELECT {job.shown},
       NULL::timestamptz AS finished_at, NULL AS outcome, NULL AS cause, NULL::json AS result
 FROM windlass.job WHERE {where} ORDER BY id DESC LIMIT $1)
UNION ALL
(SELECT {job.shown},
       finished_at, outcome, cause, result
 FROM windlass.job_history WHERE {where} ORDER BY id DESC LIMIT $1)
ORDER BY id DESC LIMIT $1
