"""What a client can talk about: `client.jobs`, `client.executions`, …; one noun of the API a file.

Owns: the verbs of each noun, as methods with typed parameters; `JobOptions` and the like are the
API's own fields.
Promises: things are the API's objects (sdk.objects); lists turn their pages by themselves.
Never: retries or reads an answer (sdk.http does), or checks what the server checks.

    noun.py       what every noun has: the way to the server, and the paths below its own
    jobs, dead_letters, queues, events, targets, locks, secrets, schedules, workflows, executions,
    approvals, nodes, operations, tasks, users, keys, sessions, system, audit
                  the nouns themselves, as the API has them
    lock.py       client.lock: a lock for the length of a block, renewed in the background
    blocking.py   the blocking side of every noun: a verb that is missing there is added there

A new route gets its method in the noun's file and a line in blocking.py.
"""
