-- job_get_many: jobs by id, finished or not.
-- params: id uuid[]     returns: the rows (SHOWN in model/job/draft.py); finished_at, outcome, cause and result are NULL for unfinished ones, and
-- so is detail, except while the receiver has the job: then it is with the event that tells of that (see job_await_many).
-- Index: both primary keys; event_job.
SELECT {job.shown}, parked_at,
       NULL::timestamptz AS finished_at, NULL AS outcome, NULL AS cause, NULL::json AS result,
       CASE WHEN callback_until IS NOT NULL THEN (
           SELECT e.data -> 'detail' FROM windlass.event e
           WHERE e.job_id = job.id AND e.type = 'awaited' AND (e.data ->> 'attempt')::int4 = job.attempt LIMIT 1) END AS detail
FROM windlass.job WHERE id = ANY ($1::uuid[])
UNION ALL
SELECT {job.shown}, parked_at,
       finished_at, outcome, cause, result, detail
FROM windlass.job_history WHERE id = ANY ($1::uuid[])
