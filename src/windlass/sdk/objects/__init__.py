"""The objects of the API as classes: `windlass.Job`, `windlass.Execution`, and all others.

Owns: which fields each has and of which types, as the OpenAPI document says
(tests/sdk/test_objects.py holds them to it, field by field).
Promises: each is the dict that the server sent (sdk.http.api_object says how). What the document
calls an error, a lock or a task is `JobError`, `LockInfo` or `TaskInfo` here: `windlass` has
classes of those names that do something.
Never: does anything; the verbs are in sdk.nouns. A field whose name is a word of Python (`from`)
is an item and no attribute.

    jobs.py         jobs, attempts, events, log lines, why, deliveries, dead letters
    executions.py   executions, their graph and signals, approvals
    workflows.py    workflows, versions, drafts, differences
    schedules.py    schedules, firings, what is to come
    resources.py    queues, targets, locks, secrets
    identity.py     users, sessions, API keys, and who calls
    audit.py        entries of the audit log
    cluster.py      nodes, operations, tasks, health, caches and counters
"""
