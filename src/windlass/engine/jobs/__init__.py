"""Jobs, the durable queue: enqueue, claim (dequeue), finish, cancel, rescue, replay, and read.

    enqueue -> `queued` -> claim -> `running` -> finish -> end -> history
                  ^                                |
                  '--- retry, snooze, rescue ------'

Owns: what moves a job from one state to another; queues, counters, the event log, the retention.
Steps are jobs that engine.executions makes.
Promises: what was accepted is not lost (G1); it ends once, and what runs only by its fencing token
(G2); it starts after its parents (G5) and never ends `succeeded` after a cancel (G7); its events
fold to its row (G10).
Never: performs a job (strategies), or decides a retry or a backoff (model.job).

Doors, for a job's life:
    enqueue          submit one or a batch; `request` is a submission on its way, `admission` its
                     deduplication, idempotency and limits, `parents` its dependencies,
                     `contention` its wait for a row that somebody holds
    claim            take due jobs for a node, hand them back, park them
    finish           apply settlements; also in a task's own transaction
    end              the transaction of an end: children, executions, locks; `notify_children` for
                     those that are too many for it
    complete         asynchronous completion by a token
    cancel           cancel anywhere, and stop what runs
    rescue           lost nodes, deadlines, receivers that are late; one round of all recovery is
                     `recover`
    replay           dead letters: redrive, discard; promote
    bulk             one verb on all jobs of a filter: preview, ask, watch, abort; `bulk_batch` is
                     a batch of it
and for those who look:
    read, history, tail     jobs and attempts; events; the live stream of events
    why                     why a job does not run
    queues, stats           limits, pause and resume; counters
    tasks                   tasks by name: what each takes, who has it
    task_log                log lines and progress of tasks
    retain, partitions      housekeeping: what is past the retention, partitions of the history
"""
