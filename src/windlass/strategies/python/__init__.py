"""`python`: tasks of the `--app` object, in a thread pool, on an event loop, or in a process.

Owns: where a user's function runs, how it is stopped, and what its value or exception becomes.
Promises: nothing a user writes stops a heartbeat; a timeout really stops the work (an exception in
the thread, a cancelled coroutine, a killed process); a task that is stopped writes nothing any more
in its job's own transaction (G4). A process that dies is a crash of that task and of no other.
Never: knows the database. What a node does for a task it is given as `services.TaskServices`.

Doors:

    python          `Python`: the strategy, and `check_input`
    apps            `load_apps`, `load_tasks`: `--app module:attr`, one or several
    task            `tasks_of`: the tasks of an app; `shape_of`: what a task takes
    services        what a node offers to tasks: log, progress, transaction, checkpoints
    running         the running task behind `windlass.current()`, in the node or isolated
    perform         calls a task, where it runs; its value or exception -> an outcome
    threads         sync tasks: a thread pool whose threads can be stopped
    user_loop       async tasks: an event loop in a thread of its own
    processes       isolated tasks: a pool of processes; process_worker: their side of the pipe
    completions     how calls end on the node's loop, many with one wake-up
    span            an OpenTelemetry span around a task
"""
