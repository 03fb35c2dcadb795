"""`windlass node ls|get|leader|signal`: look at nodes, and tell them something until they have done
it. (`windlass node` runs one: cli/verbs/node.py.)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from cyclopts import Parameter

from windlass.cli.exits import Exit
from windlass.cli.http.listing import show_one, show_whole
from windlass.cli.http.whole_id import whole_id, whole_ids
from windlass.cli.limits import CALL_SECONDS
from windlass.cli.options import READ, Reading
from windlass.cli.show.table import Column, columns, prose, show_table, spare
from windlass.cli.values import json_object, seconds


def _state(node: Mapping[str, Any]) -> str:
    is_held = node.get("is_paused") and node.get("state") == "active"
    return "paused" if is_held else str(node.get("state"))


def _megabytes(size: int | None) -> str:
    return "" if size is None else f"{size / 1e6:.0f} MB"


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.1f} %"


def _queues(node: Mapping[str, Any]) -> str:
    """Which it serves."""
    named = ", ".join(node.get("queues") or ()) or "all"
    excluded = ", ".join(node.get("queues_except") or ())
    return f"{named} but {excluded}" if excluded else named


USED = (
    Column(title="memory", take="memory_bytes", tell=_megabytes),
    Column(title="cpu", take="cpu_percent", tell=_percent),
)
ROW = (
    *columns("id", "name"),
    Column(title="state", take=_state),
    *columns("workers", "in_flight"),
    prose("queues", _queues),
    *spare(*USED, "roles"),
    *columns("beat_at"),
)
PAGE = (*ROW, *columns("host", "pid", "version", "started_at", "paused_at", "lease_until"))
LEADER = columns("node_id", "name", "term", "elected_at", "lease_until")


def ls(*, reading: Reading = READ) -> None:
    """List nodes, living ones first."""
    show_whole(reading, "/v1/nodes", ROW, none="no node has registered")


def get(
    node: Annotated[
        str,
        Parameter(metavar="NODE", help="Its name, or its id, node_…, or the first digits of that."),
    ],
    /,
    *,
    reading: Reading = READ,
) -> None:
    """Show one node."""
    with reading.client() as client:
        show_one(reading, client.get(f"/v1/nodes/{whole_id(client, 'node', node)}"), PAGE)


def leader(*, reading: Reading = READ) -> None:
    """Show who leads; nobody does while an election is under way, or without the role `leader`."""
    with reading.client() as client:
        show_one(reading, client.get("/v1/leader"), LEADER)


SIGNALLED = (
    *columns("node"),
    Column(title="acknowledged", take="acknowledged"),
    prose("answer"),
)


def signal(
    name: Annotated[str, Parameter(metavar="NAME", help="Such as ping, reload, invalidate.")],
    /,
    *,
    to: Annotated[
        list[str] | None, Parameter(metavar="NODE", help="Name or id of a node; else all.")
    ] = None,
    payload: Annotated[str | None, Parameter(metavar="JSON", help="Or @file, or -.")] = None,
    wait: Annotated[str, Parameter(metavar="TIME", show_default=True, help="How long.")] = "5s",
    reading: Reading = READ,
) -> int:
    """Tell nodes something and wait until each has done it.

    Exits with 7 when a node did not acknowledge, and with 1 when one answered with an error.
    """
    waits = seconds("--wait", wait)
    body: dict[str, Any] = {"name": name, "wait": waits}
    if payload is not None:
        body["payload"] = json_object("--payload", payload)
    with reading.client() as client:
        body["targets"] = whole_ids(client, "node", to) if to else "all"
        answer = client.post("/v1/signals", body, seconds=waits + CALL_SECONDS)
    said = answer.value
    if reading.output == "table":
        show_table(SIGNALLED, _rows(said), none="no node lives")
    else:
        show_one(reading, answer, ())
    if said["missing"]:
        return Exit.TIMED_OUT
    is_refused = any("error" in found for found in said["answers"].values())
    return Exit.FAILED if is_refused else Exit.OK


def _rows(said: dict[str, Any]) -> list[dict[str, Any]]:
    done = [
        {"node": node, "acknowledged": True, "answer": said["answers"][node] or None}
        for node in said["acknowledged"]
    ]
    return done + [
        {"node": node, "acknowledged": False, "answer": said["reasons"][node]}
        for node in said["missing"]
    ]
