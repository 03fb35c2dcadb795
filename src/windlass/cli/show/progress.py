"""Progress (spinner, line, bar) for a person at a terminal, drawn on standard error with rich."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from windlass.cli.show.moment import length
from windlass.cli.show.output import say
from windlass.clock import monotonic

# Takes a line that replaces the one before.
Teller = Callable[[str], None]


def is_watched() -> bool:
    """Whether somebody looks at standard error."""
    return sys.stderr.isatty()


@contextmanager
def spinner() -> Iterator[Teller]:
    """A line with a spinner and the seconds gone by, which vanishes at the end."""
    from rich.console import Console
    from rich.live import Live
    from rich.spinner import Spinner
    from rich.text import Text

    begun = monotonic()
    turning = Spinner("dots")
    told = ""

    def draw() -> Spinner:
        turning.update(text=Text(f"{told}  {length(monotonic() - begun)}"))
        return turning

    def tell(line: str) -> None:
        nonlocal told
        told = line

    # Redrawn by rich's own thread, so the seconds run on while a call is under way.
    with Live(
        get_renderable=draw, console=Console(stderr=True), transient=True, refresh_per_second=8
    ):
        yield tell


@contextmanager
def progress_line() -> Iterator[Teller]:
    """A line that is drawn over for a person; a line for each change otherwise."""
    if is_watched():
        with spinner() as tell:
            yield tell
        return
    told = ""

    def tell_once(line: str) -> None:
        nonlocal told
        if line != told:
            told = line
            say(line)

    yield tell_once


@contextmanager
def progress_bar(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A bar that is moved by the number of things done. None: nobody knows how many there are."""
    if not is_watched():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    shown = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*shown, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=total)
        yield lambda done: progress.advance(task, done)
