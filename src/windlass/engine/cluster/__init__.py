"""The cluster as the database knows it: nodes, leader election, operations, signals between nodes.

Owns: the rows of `operation` and `signal`, and reading those of nodes and of the leader.
Promises: one operation of a node at a time, decided by a unique index, and no phase of it is
written by whom it was taken from; a signal reaches every living target, through Redis or else
through PostgreSQL (G9), and whoever sent it hears who has not acknowledged in time; a coordinator
that beats is never swept.
Never: runs by itself, or carries an operation out: the node does (runtime.cluster).

Doors:
  nodes                 list and read nodes; `read_leader`; `is_current`, the fence of a term
  operations            ask nodes to resize, pause, resume or drain; estimate, watch, abort
  operation_steps       the same operation from the node's side: next, step, end
  node_signals          `Signaller.signal`: tell nodes something and wait until each has done it
  node_signals_stored   the target's side of that in PostgreSQL: pending, acknowledge, forget
  sweep                 `Sweeper`: garbage collection of what dead coordinators left in Redis
  sweep_entry           what the audit log says of a sweep

Registration, heartbeats, leases and elections are loops of a node: see runtime.cluster.
"""
