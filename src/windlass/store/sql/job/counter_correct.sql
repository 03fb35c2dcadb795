-- counter_correct: add a delta that makes one counter right. For the doctor, in the transaction of counter_check.
-- params: queue text, what text, n int8     returns: nothing
INSERT INTO windlass.counter_delta (queue, blocked, queued, running, succeeded, dead, cancelled, expired, skipped, bytes)
SELECT $1, CASE $2::text WHEN 'blocked' THEN $3::int8 ELSE 0 END, CASE $2::text WHEN 'queued' THEN $3::int8 ELSE 0 END,
       CASE $2::text WHEN 'running' THEN $3::int8 ELSE 0 END, CASE $2::text WHEN 'succeeded' THEN $3::int8 ELSE 0 END,
       CASE $2::text WHEN 'dead' THEN $3::int8 ELSE 0 END, CASE $2::text WHEN 'cancelled' THEN $3::int8 ELSE 0 END,
       CASE $2::text WHEN 'expired' THEN $3::int8 ELSE 0 END, CASE $2::text WHEN 'skipped' THEN $3::int8 ELSE 0 END,
       CASE $2::text WHEN 'bytes' THEN $3::int8 ELSE 0 END
