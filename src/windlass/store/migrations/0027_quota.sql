-- 0027_quota: quotas of keys and users, and how quickly a queue takes jobs.
SELECT;
