"""An independent witness of what tasks did: one line for each start, and each end or stop.

Tasks write with O_APPEND, one `write` a line, so that lines of many processes never mix and a line
survives the death of whoever wrote it. The witness knows nothing of the database, and the database
nothing of it: tests compare the two.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, get_args

VARIABLE: Final = "WITNESS_FILE"
Moment = Literal["start", "end", "stop"]  # stop: it was ended from outside


@dataclass(frozen=True, slots=True, kw_only=True)
class WitnessLine:
    moment: Moment
    marker: str  # names the job
    pid: int
    at: float  # monotonic; on Linux one clock for all processes


def write(moment: Moment, marker: str) -> None:
    """Called by tasks, in whatever process they run."""
    line = f"{moment} {marker} {os.getpid()} {time.monotonic():.6f}\n"
    file = os.open(os.environ[VARIABLE], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    try:
        os.write(file, line.encode())
    finally:
        os.close(file)


class Witness:
    def __init__(self, path: Path) -> None:
        self.path = path
        path.touch()

    def lines(self, moment: Moment | None = None, marker: str | None = None) -> list[WitnessLine]:
        """What was seen, in the order in which it was written."""
        found = [_read(text) for text in self.path.read_text().splitlines()]
        return [
            line
            for line in found
            if moment in (None, line.moment) and marker in (None, line.marker)
        ]

    def by_marker(self, moment: Moment) -> dict[str, list[WitnessLine]]:
        found: dict[str, list[WitnessLine]] = {}
        for line in self.lines(moment):
            found.setdefault(line.marker, []).append(line)
        return found


def _read(text: str) -> WitnessLine:
    moment, marker, pid, at = text.split()
    [known] = [known for known in get_args(Moment) if known == moment]
    return WitnessLine(moment=known, marker=marker, pid=int(pid), at=float(at))
