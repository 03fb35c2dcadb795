"""Show an execution as it goes: a tree that is drawn over for a person at a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from windlass.cli.http.client import Answer, Client, segment
from windlass.cli.http.wait import EXECUTION, poll, seconds_left
from windlass.cli.limits import POLL_LIVE_SECONDS
from windlass.cli.show.execution_tree import Tree, TreeLine, lines
from windlass.cli.show.output import show_line
from windlass.cli.show.table import COLOURS
from windlass.clock import monotonic, wall

if TYPE_CHECKING:
    from rich.text import Text

# Children are shown as far down as a screen is wide, and as many as a screen is high.
DEPTH_MAX: Final = 4
CHILDREN_MAX: Final = 20
_STYLES: Final = {31: "red", 32: "green", 33: "yellow", 35: "magenta", 36: "cyan"}

Draw = Callable[[list[TreeLine]], None]


def read_tree(client: Client, execution_id: str, depth: int = 0) -> Tree:
    """The graph of an execution and of the children that its steps wait for."""
    return _with_children(client, client.get(_graph_path(execution_id)).value, depth)


def show_tree(client: Client, first: Answer) -> None:
    """The tree once, on standard output: coloured for a person, plain for a program."""
    found = lines(_with_children(client, first.value, 0), wall())
    if not sys.stdout.isatty():
        for line in found:
            show_line(line.text)
        return
    from rich.console import Console

    Console(highlight=False).print(_drawn(found), soft_wrap=True)


def watch_live(client: Client, first: Answer, longest: float | None) -> Answer:
    """The execution once it has ended, the tree being drawn until then. Raises Stopped."""
    answer, execution = first, first.value
    begun = monotonic()
    with drawing() as draw:
        while True:
            draw(lines(read_tree(client, execution["id"]), wall()))
            if EXECUTION.is_ended(execution["state"]):
                return answer
            left = seconds_left(EXECUTION, execution, begun, longest)
            seconds = min(left, POLL_LIVE_SECONDS)
            answer = poll(EXECUTION, client, execution["id"], seconds, lambda _: None)
            execution = answer.value


@contextmanager
def drawing() -> Iterator[Draw]:
    """On standard error; the last tree stays."""
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(stderr=True, highlight=False), auto_refresh=False) as live:
        yield lambda found: live.update(_drawn(found), refresh=True)


def _drawn(found: list[TreeLine]) -> Text:
    from rich.text import Text

    drawn = Text(no_wrap=True, overflow="ellipsis")
    for number, line in enumerate(found):
        before, after = line.name + "  " + line.kind + "  ", "  " + line.took + "  " + line.more
        style = _STYLES.get(COLOURS.get(line.state.strip(), 0), "")
        drawn.append("\n" if number else "").append(before).append(line.state, style)
        drawn.append(after.rstrip())
    return drawn


def _with_children(client: Client, graph: dict[str, Any], depth: int) -> Tree:
    named = [step["child_id"] for step in graph["steps"] if step.get("child_id")]
    if depth >= DEPTH_MAX:
        return Tree(graph=graph)
    shown = named[:CHILDREN_MAX]
    return Tree(graph=graph, children={one: read_tree(client, one, depth + 1) for one in shown})


def _graph_path(execution_id: str) -> str:
    return f"/v1/executions/{segment(execution_id)}/graph"
