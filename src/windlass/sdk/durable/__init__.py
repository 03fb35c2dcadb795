"""Durable functions (durable execution): async code that is replayed from its checkpoints.

    durable.py      @app.durable, start, and how a node plays one
    verbs.py        what a function awaits: step, sleep, wait_for
    run.py          one attempt: replay what was done, do what is next, rest without a slot
    call.py         a step's function or task with its arguments, and its result
    difference.py   the code has changed (non-determinism): both sides, and DurableMisuse

Owns: the place of each call, by which a replay finds what was done.
Promises: a step's result is kept before it is returned, so it is done once unless its node dies
in the middle (at least once then); a sleep or a wait holds no slot; code that does not do again
what it did before ends the attempt with both side by side, and changes nothing.
Never: stores anything by itself: checkpoints are written by the node (model.job.checkpoint).
"""
