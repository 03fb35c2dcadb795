"""graphile-worker (npm), the fastest peer we know: drain jobs in one process of Node.

Its settings are those of its own performance page (a local queue, completion in batches without
delay, 24 jobs at once), with the local queue enlarged to what was fastest here. They are in
graphile/drain.mjs. It is installed beside that file, on first use, when there is an npm.

The version is the last that runs on the Node 20 of a fresh machine (0.18 asks for Node 22).
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks import child
from benchmarks.limits import DRAIN_JOBS, INSTALL_SECONDS_MAX
from benchmarks.measure import Sample
from benchmarks.rows import PAYLOAD

FOLDER = Path(__file__).parent / "graphile"
LOCK = FOLDER / "package-lock.json"
# npm's own record of what it installed; written last, so that half an installation has none.
INSTALLED = FOLDER / "node_modules" / ".package-lock.json"
SCHEMA = "peer_graphile"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    dsn: str
    schema: str
    jobs: int
    payload: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drained:
    jobs: int
    seconds: float


async def measure(
    dsn: str, *, jobs: int = DRAIN_JOBS, tell: Callable[[str], None] = print
) -> Sample | None:
    """Jobs per second; None when it cannot be installed here."""
    missing = [program for program in ("node", "npm") if shutil.which(program) is None]
    if missing:
        tell(f"graphile-worker is left out: there is no {' and no '.join(missing)} here")
        return None
    if not _is_installed():
        try:
            await _install()
        except child.ChildFailed as failure:
            tell(f"graphile-worker is left out: it could not be installed: {failure}")
            return None
    drained = await child.call(
        ["node", "drain.mjs"],
        Request(dsn=dsn, schema=SCHEMA, jobs=jobs, payload=PAYLOAD),
        Drained,
        cwd=FOLDER,
        # Its own switch against a log line per job.
        environment={"NO_LOG_SUCCESS": "1", "NODE_ENV": "production"},
    )
    assert drained.jobs == jobs, f"graphile-worker drained {drained.jobs} of {jobs}"
    return Sample.rate(drained.jobs, drained.seconds, "jobs/s")


def _is_installed() -> bool:
    return INSTALLED.exists() and INSTALLED.stat().st_mtime >= LOCK.stat().st_mtime


async def _install() -> None:
    await child.run(
        ["npm", "ci", "--no-audit", "--no-fund"], seconds_max=INSTALL_SECONDS_MAX, cwd=FOLDER
    )
