"""/v1/executions: runs of workflows: start, wait for, signal, pause, cancel, rerun; and approvals.

Owns: what an execution, its graph and an approval look like to a caller.
Promises: a start that was answered is committed (G1), and with an Idempotency-Key made once; an
execution's state is that of its jobs (G8); one that was cancelled never ends `succeeded` (G7).
Never: advances an execution: engine.executions does, and tells the nodes of it.

    start.py        POST /v1/workflows/{name}/executions
    executions.py   list, get (?wait= long polling), jobs, events, graph, why
    verbs.py        cancel, pause, resume, rerun, and signals to one
    approvals.py    decisions that people are asked for (human in the loop)
    view.py         an execution, its graph, and why it has not ended
    schema.py       JSON Schemas of what comes in and goes out
"""
