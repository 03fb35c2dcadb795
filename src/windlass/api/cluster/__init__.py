"""The installation: nodes, leader, operations on nodes, signals, health, metrics, caches, sweep.

Owns: what operators see of nodes and ask of them.
Promises: `/health/live` touches no database; readiness names what is amiss. A change of a node is
accepted at once (202) and carried out by the node itself; no job is cut off by it (G1).
Never: waits for a node that is dead, or needs Redis to answer (G9).

    health.py           /health, /health/live, /health/ready (liveness and readiness probes)
    metrics.py          /metrics for Prometheus
    nodes.py            /v1/nodes, and /v1/leader (leader election)
    operations.py       resize, pause, resume, drain of nodes; /v1/operations, abort
    resize_body.py      what such a request may say
    operation_view.py   how an operation is shown
    signals.py          /v1/signals: tell nodes something and wait until they have done it
    refresh.py          /v1/shards and /v1/system/refresh: who keeps executions up to date
    cache.py            /v1/system/cache: hit rates, invalidation on all nodes
    system.py           /v1/system/sweep (stale keys in Redis) and /v1/strategies (kinds of jobs)
"""
