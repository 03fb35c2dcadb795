"""Nodes as the others see them: operations (resize, pause, drain), signals, heartbeats.

Owns: the phases of an operation and their order, the shape of a signal and of what came of it, and
how a coordinator's heartbeat is read; which work a node takes.
Promises: an operation passes its phases in one order and ends as `done` or `rolled_back`; a beat
that cannot be read is never a reason to delete.
Never: talks to Redis or PostgreSQL. engine/cluster and runtime/cluster do.

Doors:

    operation    Operation, PHASES; `phase_of_all`: of a change of the whole cluster
    node_signal  Signal and Signalled: a broadcast to nodes, its acknowledgements and who is missing
    served       ServedQueues, ServedWork: which queues, in which order, and what it can perform
    beat         `beat_at_ms`: when a coordinator was last alive
"""
