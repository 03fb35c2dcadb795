-- target_lock_many: the rows of targets, locked, so that one node at a time lets their jobs go.
-- params: host text[]     returns: the rows, with `now`
-- Index: target primary key; in the order of hosts, so that two nodes never wait for each other in a circle.
SELECT t.*, clock_timestamp() AS now FROM windlass.target t WHERE t.host = ANY ($1::text[]) ORDER BY t.host FOR UPDATE
