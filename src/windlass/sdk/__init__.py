"""The Python SDK: what users import as `windlass` (see windlass/__init__.py for the public names).

Owns: Apps and tasks, workflows as code, durable functions, and the clients of the API.
Promises: `import windlass` brings no server, no HTTP client and no event loop: names are fetched
when they are first used. Every verb comes for threads and for asyncio. What is refused names the
parameter or the line, and what to write instead.
Never: imports the engine, the store or the runtime; a node reaches in through `compose`.

    tasks/      App, @app.task, enqueue and handles, current(), options, schedules, publish
    workflow/   @app.workflow: a function that is traced into a definition (DAG)
    durable/    @app.durable: async functions that are replayed from checkpoints
    http/       Client and AsyncClient, transports, retries, paging, errors
    objects/    what clients answer: Job, Execution, …, dicts with typed attributes
    nouns/      client.jobs, client.executions, …: one noun a file
    bridges/    Celery, Django, and ASGI frameworks (FastAPI, Starlette, Litestar)
    limits.py   the SDK's own bounds
"""
