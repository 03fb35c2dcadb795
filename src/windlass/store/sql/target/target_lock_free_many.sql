-- target_lock_free_many: as target_lock_many, without those that somebody else holds.
-- params: host text[]     returns: the rows, with `now`
-- Index: target primary key. For when target_lock_many had to wait too long for one of them.
SELECT t.*, clock_timestamp() AS now FROM windlass.target t WHERE t.host = ANY ($1::text[]) ORDER BY t.host FOR UPDATE SKIP LOCKED
