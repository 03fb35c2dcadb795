"""The services of a node as a test needs them: it remembers what tasks said."""

from __future__ import annotations

from windlass.model.job.attempt import Attempt
from windlass.model.job.task_log import Line, Progress
from windlass.strategies.python.services import NoTaskServices


class Listener(NoTaskServices):
    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.progress: list[Progress] = []
        self.waits = 0  # how often somebody waited for its notes to be written

    def note_line(self, attempt: Attempt, line: Line) -> None:
        self.lines.append(line)

    def note_progress(self, attempt: Attempt, progress: Progress) -> None:
        self.progress.append(progress)

    async def written(self) -> None:
        self.waits += 1
