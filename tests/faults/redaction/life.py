"""Nodes, calls and commands, all of whose words are looked at."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import aiohttp

from tests.faults.nodes import ROOT
from tests.faults.redaction.canaries import Canaries, Places
from tests.ports import free_port
from tests.until import until

APP: Final = "tests.faults.redaction.leaky_app:app"


@dataclass(slots=True, kw_only=True)
class Life:
    """What the nodes live through, and everything that comes of it."""

    folder: Path
    database_url: str
    redis_url: str
    canaries: Canaries = field(default_factory=Canaries)
    places: Places = field(default_factory=Places)
    urls: list[str] = field(default_factory=list)
    processes: list[asyncio.subprocess.Process] = field(default_factory=list)
    client: aiohttp.ClientSession | None = None
    jobs: list[str] = field(default_factory=list)

    async def ask(
        self,
        method: str,
        path: str,
        *,
        key: str | None = None,
        says: str | None = None,
        node: int = 0,
        **given: Any,
    ) -> tuple[int, Any]:
        """One request; its answer is a place, `says` or named by the route."""
        assert self.client is not None
        where = says or f"answer of {method} {re.sub(r'[?].*', '', path)}"
        headers = dict(given.pop("headers", {}))
        if key is not None:
            headers["Authorization"] = f"Bearer {key}"
        async with self.client.request(
            method, self.urls[node] + path, headers=headers, **given
        ) as answer:
            text = await answer.read()
            self.places.add(where, f"{answer.status} {dict(answer.headers)}\n".encode() + text)
            try:
                return answer.status, json.loads(text)
            except ValueError:
                return answer.status, text

    async def must(self, status: int, method: str, path: str, **given: Any) -> Any:
        got, value = await self.ask(method, path, **given)
        assert got == status, f"{method} {path}: {got} {value}"
        return value

    async def start(self, name: str, **settings: str) -> None:
        environ = {k: v for k, v in os.environ.items() if not k.startswith("WINDLASS_")}
        self.urls.append("")
        out, err = self.folder / f"{name}.out", self.folder / f"{name}.err"
        with out.open("wb") as stdout, err.open("wb") as stderr:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "windlass", "node", "--app", APP, "--workers", "8"),
                cwd=ROOT,
                env={
                    **environ,
                    "WINDLASS_DATABASE_URL": self.database_url,
                    "WINDLASS_REDIS_URL": self.redis_url,
                    "WINDLASS_EGRESS_ALLOW": "127.0.0.0/8",
                    "WINDLASS_LOG_LEVEL": "debug",
                    "WINDLASS_PORT": str(free_port()),
                    **settings,
                },
                stdin=asyncio.subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
            )
        self.processes.append(process)

        def is_ready() -> bool:
            assert process.returncode is None, err.read_text()
            said = re.search(r"^ready: (\S+)$", out.read_text(), re.MULTILINE)
            if said is not None:
                self.urls[len(self.processes) - 1] = said[1]
            return said is not None

        await until(is_ready, what=f"{name} is ready")

    async def command(self, *argv: str, says: str = "", **environ: str) -> str:
        """A command of ours; all that it says is a place."""
        ours = {k: v for k, v in os.environ.items() if not k.startswith("WINDLASS_")}
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "windlass", *argv),
            cwd=self.folder,
            env={**ours, "PYTHONPATH": str(ROOT), **environ},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        said, _ = await asyncio.wait_for(process.communicate(), 60)
        self.places.add(says or f"windlass {argv[0]}", said)
        return said.decode()

    async def submit(self, key: str, job: dict[str, Any], status: int = 201) -> dict[str, Any]:
        made: dict[str, Any] = await self.must(
            status, "POST", "/v1/jobs", json=job, key=key, says="answer of POST /v1/jobs"
        )
        if status == 201:
            self.jobs.append(made["id"])
        return made

    async def end(self) -> None:
        for process in self.processes:
            if process.returncode is None:
                process.terminate()
                try:
                    await asyncio.wait_for(process.wait(), 40)
                except TimeoutError:
                    process.kill()
                    await process.wait()
