"""Import: what `import windlass` costs a program that only wants to enqueue something.

In a fresh interpreter each time, by the clock inside it. Once with nothing else, and once with an
App, a task and a client of its own, for whatever is imported only when it is asked for: that is
only shown, for most of it is asyncio. Of what a server is made of nothing may come along.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import msgspec

from benchmarks import child
from benchmarks.limits import IMPORT_MS_MAX, IMPORTS, READY_SECONDS_MAX
from benchmarks.measure import Figure, Series, absolute, worst
from benchmarks.stage import Stage

OF_A_SERVER = ("aiohttp", "asyncpg", "cyclopts", "redis", "starlette", "uvicorn", "uvloop")
BARE = "import windlass"
APP = "and an App with a task and a client"
PROGRAMS = {
    BARE: "import windlass",
    APP: "import windlass; windlass.App('a').task(print, name='b'); windlass.Client",
}
# The program runs between two looks at the clock; what it has imported is told after that.
TIMED = """
import json, sys, time
started = time.perf_counter()
{program}
seconds = time.perf_counter() - started
print(json.dumps({{"ms": seconds * 1000, "modules": [m for m in {names} if m in sys.modules]}}))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    ms: float
    modules: list[str]  # of a server, and not wanted


async def figures(stage: Stage) -> list[Figure]:
    await imported(PROGRAMS[APP])  # compiles what was changed
    found: list[Figure] = []
    for name, program in PROGRAMS.items():
        taken = [await imported(program) for _ in range(IMPORTS)]
        stage.tell(f"{name}: {', '.join(f'{one.ms:.0f}' for one in taken)} ms")
        times = Series(name=name, unit="ms", values=tuple(one.ms for one in taken))
        strangers = sorted({module for one in taken for module in one.modules})
        if strangers:
            stage.tell(f"{name} imports {' '.join(strangers)}")
        found.append(absolute(times, at_most=IMPORT_MS_MAX if name == BARE else None))
        found.append(
            worst(
                Series(
                    name=f"{name}: modules of a server",
                    unit="modules",
                    values=(float(len(strangers)),),
                ),
                at_most=0,
            )
        )
    return found


async def imported(program: str) -> Imported:
    """Run it in an interpreter of its own."""
    source = TIMED.format(program=program, names=list(OF_A_SERVER))
    told = await child.run([sys.executable, "-c", source], seconds_max=READY_SECONDS_MAX)
    return msgspec.json.decode(told, type=Imported)
