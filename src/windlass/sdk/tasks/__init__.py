"""Apps and tasks: @app.task, enqueue, handles and results, current(), retry options, cron, publish.

A call of `send_mail.using(key="k").enqueue("a@b.c")`, and which file has what:

    app.py            the App: registry of tasks, workflows, durable functions and schedules
    task.py           a task and its bound calls; options.py: Retry, queue, priority, key, …
    task_limits.py    concurrency and rate of a task, per argument too; unique jobs, debounce
    arguments.py      arguments to JSON and back (codec.py: one type; type_hints.py: signatures)
    job_body.py       the job object, and batches of them
    enqueue_sql.py    in the caller's transaction (transactional outbox: no dual write), else HTTP
    after_commit.py   when that has committed; commit_hints.py then wakes the nodes
    handle.py         the job that was made, or those of a map; execution_handle.py: an execution
    remote_error.py   JobFailed that is of the class the task raised, too
    waiting.py        wait, await_all and as_completed for many handles

Inside a running task: current.py (progress, log, heartbeat, own transaction), pauses.py (sleep,
wait_for). Beside tasks: cron.py (@app.cron, @app.every), publish.py (make the server have them).

Promises: calling a task calls the function; what passes `arguments` is taken by the node; a job
that is enqueued in a transaction commits with it or never was. A slot never waits for a slot.
Never: imports FastAPI, Django, SQLAlchemy and the like: connections are recognised by their looks.
"""
