"""The engine: what happens to jobs, executions, schedules, locks and targets, as transactions.

Owns: every promise about the database. A verb is a function that takes a Database, or a Connection
where it is part of the caller's transaction (`…_in`), and comes back when it is committed.
Promises: verbs are idempotent or fenced, take many at a time, and wait for nobody's row for long.
Never: runs by itself (runtime calls it: loops, nodes, duties), speaks HTTP, or decides what the
model can decide without a database.

Rooms, one a noun:
    jobs        enqueue, claim, finish, cancel, rescue, replay, read
    executions  workflows under way: start, progress, fan-out, saga, signals, approvals
    schedules   cron and intervals: fire, misfires, backfill, the ledger
    locks       named locks and semaphores, granted in turn
    targets     hosts that webhooks go to: limits, circuit breaker, parked jobs, deliveries
    identity    users, sessions, API keys: who shows a token
    audit       who did what to which object: written with the change, never changed
    secrets     values kept encrypted, and their rotation
    cluster     nodes, their operations and signals; the sweep of Redis
    cache       read-through caches, and their invalidation
    doctor      the consistency check of the whole database
    evaluate    a process for heavy expressions

Shared by all:
    effects         the one record of what follows a commit
    follow          does it: tells who waits, and looks after what no node performs
    upcalls         what the engine, and what is below it, asks of the node above
    announce        wake-ups and notifications, here and on other nodes
    waiters         callers that wait for an end
    gather          single requests become batches
    conditions      what a list is filtered by: WHERE clauses with numbered parameters
    isolated_round  rounds in which one bad item holds up no other, with a backoff for each
    idempotency     Idempotency-Keys of whatever is not a job
    id_matches      what the first digits of an id can mean, and the name of a node
"""
