"""`windlass node resize|pause|resume|drain`: change nodes while they work."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Annotated, Any, Final

from cyclopts import Parameter

from windlass.cli.exits import BadUsage, Exit
from windlass.cli.http.client import Answer, Client
from windlass.cli.http.listing import show_one
from windlass.cli.http.wait import wait_for_operation
from windlass.cli.http.whole_id import whole_id
from windlass.cli.options import READ, Reading
from windlass.cli.show.operation import exit_of, show_operation
from windlass.cli.show.table import columns
from windlass.cli.values import duration, seconds

Nodes = Annotated[
    str, Parameter(metavar="NODE", help="Name or id of a node, or its id's first digits.")
]
Wait = Annotated[
    str | None,
    Parameter(
        metavar="[DURATION]",
        help="Stay until it has ended; with 60s no longer than that (exit code 7 then).",
    ),
]
Drain = Annotated[
    str | None, Parameter(metavar="DURATION", help="How long attempts may take to end.")
]
ESTIMATE: Final = (
    *columns("node_id", "from_workers", "to_workers", "in_flight", "would_drain"),
    *columns("estimated_seconds"),
)


def resize(
    *given: Annotated[str, Parameter(metavar="NODE N", help="The node, and its new size.")],
    every: Annotated[
        bool, Parameter(name="--all", negative="", help="Every node: give N.")
    ] = False,
    drain_timeout: Drain = None,
    on_timeout: Annotated[
        str | None,
        Parameter(
            metavar="hand_back|finish",
            help="What still runs then goes on elsewhere, or ends late here.",
        ),
    ] = None,
    dry_run: Annotated[bool, Parameter(negative="", help="Only say what it would take.")] = False,
    wait: Wait = None,
    reading: Reading = READ,
) -> int:
    """Change how many slots a node has; 0 runs jobs inline, one at a time."""
    if len(given) != (1 if every else 2):
        raise BadUsage("give a node and its new size, such as web-1 8, or --all 8")
    body = {
        "workers": _whole(given[-1]),
        "drain_timeout": None if drain_timeout is None else duration(drain_timeout),
        "on_timeout": on_timeout,
        "dry_run": dry_run,
    }
    with reading.client() as client:
        path = "/v1/cluster" if every else _path(client, given[0])
        answer = client.patch(path, {name: v for name, v in body.items() if v is not None})
        if dry_run:
            for found in answer.value.get("estimates", [answer.value]):
                show_one(reading, _as_answer(answer, found), ESTIMATE)
            return Exit.OK
        return _follow(client, answer, wait, reading)


def pause(*nodes: Nodes, wait: Wait = None, reading: Reading = READ) -> int:
    """Let these nodes start nothing more; what runs goes on."""
    return _each(nodes, "pause", None, wait, reading)


def resume(*nodes: Nodes, wait: Wait = None, reading: Reading = READ) -> int:
    """Let these nodes go on."""
    return _each(nodes, "resume", None, wait, reading)


def drain(
    *nodes: Nodes, drain_timeout: Drain = None, wait: Wait = None, reading: Reading = READ
) -> int:
    """Let these nodes finish their work and leave, as SIGTERM does."""
    body = None if drain_timeout is None else {"drain_timeout": duration(drain_timeout)}
    return _each(nodes, "drain", body, wait, reading)


def _each(
    nodes: tuple[str, ...], verb: str, body: object, wait: str | None, reading: Reading
) -> int:
    if not nodes:
        raise BadUsage("say which: give one node or more")
    with reading.client() as client:
        answers = [client.post(f"{_path(client, node)}/{verb}", body) for node in nodes]
        codes = [_follow(client, answer, wait, reading) for answer in answers]
    return next((code for code in codes if code), Exit.OK)


def _path(client: Client, node: str) -> str:
    return f"/v1/nodes/{whole_id(client, 'node', node)}"


def _follow(client: Client, answer: Answer, wait: str | None, reading: Reading) -> int:
    """Show the operation; with --wait, as it was at its end."""
    if wait is not None:
        # Without a time the parser's word for "just so" comes (see launch.py): until it ends.
        longest = math.inf if wait == "yes" else seconds("--wait", wait)
        answer = wait_for_operation(client, answer, longest)
    show_operation(reading, answer)
    return exit_of(answer.value)


def _as_answer(answer: Answer, value: dict[str, Any]) -> Answer:
    from windlass.cli.show.output import compact

    return replace(answer, body=compact(value).encode())


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise BadUsage(f"{text!r} is not a number of slots") from None
