"""The HTTP API (REST, JSON, OpenAPI 3.1): what is asked is checked here and done by the engine.

Owns: what a request may say and what an answer shows, down to the words of each refusal.
Promises: a route is a row in a table (`http/route.py`) from which both the server and the OpenAPI
document are made, so that what is documented is what is checked. An answer comes after the commit,
so that what was accepted is not lost (G1).
Never: decides a retry, writes SQL, or keeps a state of its own beside caches and open connections.

A sub-package a noun; a noun of one or two files stands here by itself. Each has `routes(parts)`,
the views of what it shows, the readers of what it takes, and its JSON Schemas (`SCHEMAS`).

    app.py          the ASGI application: every noun's routes behind the door
    parts.py        what the routes work with (dependency injection); `compose` makes it
    openapi.py      /openapi.json, from the table of routes and every noun's JSON Schemas
    http/           the door: routing, authentication, bodies, paging, problems, event stream
    jobs/           submit, read, wait, cancel, retry; batches, dead letters, completion
    workflows/      definitions: publish, validate, versions, drafts
    executions/     runs of workflows: start, signal, pause, cancel, rerun; approvals
    schedules/      cron rules: CRUD, pause, trigger, backfill, preview, firings
    identity/       login, sessions, users, API keys
    locks/          named locks and semaphores with fencing tokens
    cluster/        nodes, operations, health, metrics, caches, sweep
    queues.py       queues, their limits (backpressure) and pause; /v1/stats
    targets.py      hosts of webhooks, rate limit and circuit breaker (target_limits.py: the body)
    secrets.py      write-only secrets and their rotation
    events.py       what happened: list and stream (SSE)
    audit.py        who did what: list, and export as JSON lines
    id_matches.py   what the first digits of an id can mean
"""
