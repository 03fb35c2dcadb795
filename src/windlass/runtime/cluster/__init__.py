"""A node among others: heartbeats and lease, leader election, operations, signals.

Owns: the threads that renew leases, the seat of the leader, and the node's presence in Redis.
Promises: a node trusts its lease for less time than others wait for it (G2); there is at most one
leader whose writes count, by its term (a fencing token); a phase of an operation is written before
it is entered, and what stops half-way is rolled back; a signal is handled once.
Never: lets anything on the node's main loop delay a renewal.

Doors:
  lease                `Lease`: the right to run work; heartbeats on a thread of their own
  leadership           `Leadership`: leader election by an advisory lock and a lease
  leader_duties        what only the leader does, as a table; a new duty is a row there
  operations           carries out resize, pause, resume and drain, one at a time
  operation_progress   one operation on its way through its phases
  resize               changes the number of slots while the node works
  coordinator          beats in Redis, receives signals and acknowledges them
  signal_handlers      what a node does on each signal; a new signal is a row there

What others ask of a node, and read of it, is in engine.cluster.
"""
