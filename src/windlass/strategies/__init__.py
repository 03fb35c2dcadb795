"""The outside world: one strategy a kind of job, each turning an attempt into an outcome.

Owns: how `noop`, `wait`, `http` and `python` jobs are performed, and how plugins bring kinds of
their own.
Promises: a strategy that is cancelled stops its work; whatever a receiver, a task or a plugin does
becomes an `Outcome` (model.job.outcome) and stops no heartbeat.
Never: touches PostgreSQL or Redis, or decides a retry (see model.job.settle). What a strategy needs
of its node it is given as a shape: `http.auth.secrets.Vault`, `python.services.TaskServices`.

Doors:

    strategy      what a strategy is: Strategy, Instant (takes no slot), Begin (needs no task)
    builtin       `INPUT_CHECKS` by kind, and `Noop`; wait: `Wait`, a timer
    http/         webhooks: one delivery, its signature and credentials, the SSRF guard, the pool
    python/       tasks of the `--app` object: thread pool, event loop, processes
    plugins/      strategies of installed distributions (entry points), loaded and reloaded
    input_schema  the JSON Schema of each kind's input
"""
