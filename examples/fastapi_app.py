"""Windlass inside a FastAPI application: one process serves the web and runs the work.

    .venv/bin/uvicorn examples.fastapi_app:api
    curl -X POST 'http://127.0.0.1:8000/thumbnails?picture=cat.png'
    curl http://127.0.0.1:8000/thumbnails/job_…

With several processes give them all one database: WINDLASS_DATABASE_URL=postgresql://…
"""

from __future__ import annotations

import asyncio

from fastapi import FastAPI, HTTPException

import windlass
from windlass.sdk.bridges.asgi import lifespan, mount

app = windlass.App("thumbnails")
api = FastAPI(lifespan=lifespan(app))
api.mount("/windlass", mount(app))


@app.task(retry=3)
async def shrink(picture: str, width: int = 64) -> str:
    windlass.current().progress(0, 1, "reading")
    await asyncio.sleep(0.1)  # stands for work
    windlass.current().progress(1, 1, "written")
    return picture.replace(".", f"-{width}.")


@api.post("/thumbnails", status_code=202)
async def begin(picture: str) -> dict[str, str]:
    handle = await shrink.aenqueue(picture)
    return {"job": handle.id}


@api.get("/thumbnails/{job_id}")
async def look(job_id: str) -> dict[str, object]:
    try:
        job = await app.client.jobs.wait(job_id, 10)
    except windlass.NotFound as trouble:
        raise HTTPException(404, str(trouble)) from None
    return {"state": job["state"], "picture": job["result"], "progress": job["progress"]}
