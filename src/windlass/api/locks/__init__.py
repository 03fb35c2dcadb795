"""/v1/locks: distributed locks and semaphores: acquire, renew, release; holders and waiters.

Owns: what a caller may say of a lock, and how it is shown.
Promises: the token of a hold is a fencing token, larger than that of every hold before; a caller
that waits gets its turn; the same Idempotency-Key gives the same hold.
Never: grants a lock by itself: engine.locks does, for jobs and callers alike.

    locks.py   the routes
    body.py    ttl, wait, capacity, token: read and described
    view.py    a lock with holders and waiters, its JSON Schemas, and that of a job's `locks`
"""
