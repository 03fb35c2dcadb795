"""Integrations: Celery (migration), Django tasks, ASGI frameworks (FastAPI, Starlette, Litestar).

Owns: whatever knows another library. Nothing here is imported unless asked for.
Promises: a task behaves as its own framework promises it; what Windlass cannot do is refused where
it is called.
Never: is needed by the rest of the SDK.

    asgi.py            a node, or a client, with the life of a web application; mount the API
    celery.py          `bridge`: tasks of the named queues go to Windlass; its doors
    celery_canvas.py   Celery's chain, group, chord, link; celery_maps.py: map, starmap, chunks
    celery_options.py  apply_async's options as fields of a job; celery_json.py: its values
    celery_run.py      performs a Celery task on a node; celery_result.py: AsyncResult
    django_tasks.py    the backend for TASKS; django_names.py: Django 6 or django_tasks
    django_app.py      the App behind it; django_node.py: what a node is given
    django_run.py      performs a Django task; django_result.py: TaskResult
"""
