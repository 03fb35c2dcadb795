"""Refresh of executions: their state kept equal to the aggregate of their jobs, sharded over nodes.

    a job ends -> marker -> marks in Redis, by shard -> mark_claims -> refresher -> conclusions
                     '-- without Redis --> backlog ------------------^
                              net (reconciliation by polling) --------^

Every execution belongs to one of 64 shards, every shard to one living node. A mark says that an
execution is out of date; it saves time and decides nothing.

Owns: what this node knows to be out of date, and the order in which it is seen to.
Promises: an execution is up to date within seconds of its last change, whoever dies (G8); a mark is
acknowledged after its refresh, and returns by itself otherwise; an execution that somebody holds
keeps no other from its end.
Never: computes a state (model.workflow.execution, and one statement of engine.executions.refresh),
or keeps anything whose loss would matter.

Doors:
  refresher     `Refresher`: start, stop, and the rounds
  marker        leaves marks for what this process knows of; batched for a moment
  mark_claims   takes marks of own shards from Redis, acknowledges them
  backlog       executions that wait in this process; those that rest after contention
  conclusions   ends that are more than a state; batches that fail are taken apart
  net           finds in PostgreSQL what no mark told of
  shards        which shards are this node's, as of the last heartbeat
"""
