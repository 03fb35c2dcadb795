-- partition_hold: begin a bite of one partition: one node at a time, and only while the partition is there.
-- params: partition text     returns: answer (`held`, `gone`, or `elsewhere`: another node is at it)
-- The lock is that of windlass.drop_partition, until the end of the transaction, which may delete finished jobs.
SELECT CASE WHEN NOT pg_try_advisory_xact_lock(hashtext('windlass.' || $1::text)) THEN 'elsewhere'
            WHEN to_regclass('windlass.' || $1::text) IS NULL THEN 'gone'
            ELSE 'held' END AS answer,
       set_config('windlass.verb', 'delete', true)
