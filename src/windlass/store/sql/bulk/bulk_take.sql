-- bulk_take: the bulk operation whose batch has been due for longest, locked for the length of this transaction. One that
-- another node works on is passed by.
-- params: none     returns: the row, and taken_at
-- Index: bulk_open.
SELECT b.*, clock_timestamp() AS taken_at
FROM windlass.bulk b WHERE b.ended_at IS NULL AND b.next_at <= clock_timestamp()
ORDER BY b.next_at LIMIT 1
FOR UPDATE SKIP LOCKED
