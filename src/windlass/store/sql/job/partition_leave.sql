-- partition_leave: keep autovacuum away from a day that is about to go.
-- params: partition text     returns: is_left (see windlass.leave_unvacuumed)
SELECT windlass.leave_unvacuumed($1) AS is_left
