"""The worker of a node: claims jobs, runs attempts in slots, commits how they ended.

    claimer -> buffer -> target gate -> slots (timeout) -> strategy -> finisher -> COMMIT
                  |            |          |                     stuck settlements <-'
                  '------------'----------'--> hand back (released, or parked for their target)

Owns: every attempt that this node has claimed, from the claim to the commit of its settlement.
Promises: an attempt ends once, with one settlement, which is kept until it is applied (G1); nothing
begins without a trusted lease (G2); what a task writes in its own transaction is committed with its
end or not at all (G4); what was claimed and cannot begin soon goes back and spends no try.
Backpressure: it claims no more than its slots and a prefetch that adapts, and nothing while too
many settlements wait for PostgreSQL.
Never: decides a retry (model.job.settle), performs work itself (strategies), or waits for a row
that somebody holds while others could go on.

Doors:
  worker              `Worker`: the flow above; pause, resize, drain, reconcile
  claimer             which lines have work, polling and backoff; claims
  buffer              prefetch: what is claimed and not begun
  slots               the concurrency limit of a node: attempts run here, each under its timeout
  kinds               which kinds a node can perform, each by its strategy; plugins
  finisher            batches settlements into commits (group commit)
  stuck_settlements   the one that kept a batch from its commit: found by halving, retried, buried
  hand_back           gives claims back to the queue
  target_gate         circuit breaker and rate limit of webhook targets
  task_services       what a running task may ask of its node: task_log (log lines and progress),
                      own_transaction (`current().db`), checkpoints (of durable functions)
"""
