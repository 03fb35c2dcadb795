"""A job: submission, attempt, outcome, retry and backoff, settlement, events; its locks and target.

Owns: the table of legal states (`states`), and what follows from how an attempt ended (`settle`):
success, another try, a dead letter, quarantine after too many crashes.
Promises: every outcome has a settlement (G1); a terminal state is left by a replay only (G2);
folding a job's events gives its row (G10).
Never: writes anything. The engine applies a `Settlement`, fenced by attempt and claim id.

Doors:

    submission    `read_job`, `read_batch`: a request becomes a `draft.Draft`, or all its problems
    draft         that, and `COLUMNS`: the one list of a job's columns
    batch_stream  the jobs of a large batch, one by one out of its bytes
    attempt       what a claim hands to a slot, with its fencing token
    outcome       how an attempt ended; what every strategy returns
    settle        `settle`: outcome -> next state and when
    retry         `Retry`: exponential backoff with jitter, or the ladder of webhooks; Retry-After
    event, fold   the event log with ids that sort; the job as it was at an instant
    lock          named locks (mutex, semaphore): which waiter may go, without starvation
    limit         concurrency and rate limits that a job carries, also per value of its input
    target        circuit breaker, rate limit and concurrency limit of a webhook's host
    secret_hosts  to which hosts a named secret may go
    running       the job as its own task sees it: `current()`, its transaction, its log
    checkpoint    what a durable function keeps; task_log: lines and progress of a task
    bulk          one verb on all jobs of a filter, and how far it is
    cycles        dependencies that wait for one another
"""
