-- partition_ensure: make the partitions of the coming days.
-- params: days_ahead int4     returns: how many were made
SELECT windlass.ensure_partitions($1) AS made
