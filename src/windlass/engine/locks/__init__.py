"""Distributed locks and semaphores: mutual exclusion of jobs and of callers of the API.

A lock is a name with a capacity: so many may hold it. Whoever does has a token that is larger
than all before it: a fencing token, by which whatever is guarded can refuse an earlier holder. Jobs
hold until they end, callers for a time that they renew; who finds it taken waits.

    job wants locks   -> parked for `lock` -> waits -> granted -> queued -> runs -> ends: released
    caller wants one  -> ticket -> waits -> granted -> renewed, or expires -> given back

Owns: the tables of locks, holds and waiters.
Promises: never more holds than capacity, whoever asks at once; what a job holds goes to the next
waiter in the transaction that ends it; a hold that has expired is held by nobody.
Never: keeps anything of this in Redis (G9), or holds a connection while somebody waits.

Doors:
  grant     `release` and `take_locks`, for transactions that end or insert jobs; `grant_due`, for
            what expires; `grant_next`, through which every grant goes
  acquire   take, renew, give up and give back a lock as a caller of the API
  waiters   `LockWaiters.take`: the same, and wait for one's turn
  locks     list, read and resize
  mend      the leader's repair of what no transaction of ours leaves behind; forgetting
  why       the reasons that `GET /v1/jobs/{id}/why` gives

Who goes first is decided in model.job.lock, without a database.
"""
