"""A running node: its loops and lifetimes, from registration to drain.

    Node (the process)
      incarnation (one id, one lease)      what ends with the lease
        worker/    claim -> buffer -> slots -> finisher
        cluster/   heartbeat, leader election, operations, signals
        duties     rescue, retention, counters, cancels, reconcile, locks
        firing     schedules, where this node leads
      refresh/     executions kept up to date; lives as long as the process

Owns: every background loop of a node, its threads, and what it remembers from one moment to the
next. What is done is the engine's; when, how often and by whom is decided here.
Promises: a node that cannot prove its lease begins nothing and gives up what it runs before anybody
may take it over (G2); no loop ends silently; without Redis everything is found by polling (G9).
Never: writes SQL of its own (it calls the engine, or a named statement), or imports the API.

Doors:
  node          `Node`: start, drain, stop, and what the API asks of it
  assemble      `NodeParts`, which compose.start fills; how an incarnation is put together
  incarnation   what is born and ends with one node id
  loop          `Loop`: the one background loop (tick, jitter, wake, stop, backoff after errors)
  duties        what every node does from time to time; a new duty is a row there
  firing        the leader's rounds of firing schedules
  worker/ refresh/ cluster/   each with a contract of its own
"""
