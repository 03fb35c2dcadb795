-- leader_wait: wait for the leader's seat, no longer than the lease that stands.
-- params: none     returns: 'seated', 'led' or 'evicted' (see 0005_cluster.sql)
SELECT windlass.leader_wait()
