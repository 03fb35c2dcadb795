-- target_passes: how many jobs of each target have a pass: they may go, or are under way.
-- params: host text[]     returns: host, passes
-- Index: job_passed. Asked after target_lock_many, by a snapshot newer than the lock: nobody else gives passes meanwhile.
SELECT h.host, (SELECT count(*) FROM windlass.job j WHERE j.has_pass AND j.target = h.host) AS passes
FROM unnest($1::text[]) AS h(host)
