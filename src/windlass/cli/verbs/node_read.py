"""`windlass node ls|get|leader`: look at nodes. (`windlass node` runs one: cli/verbs/node.py.)"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from cyclopts import Parameter

from windlass.cli.http.client import segment
from windlass.cli.http.listing import show_one, show_whole
from windlass.cli.options import READ, Reading
from windlass.cli.show.table import Column, columns


def _state(node: Mapping[str, Any]) -> str:
    is_held = node.get("is_paused") and node.get("state") == "active"
    return "paused" if is_held else str(node.get("state"))


def _megabytes(size: int | None) -> str:
    return "" if size is None else f"{size / 1e6:.0f} MB"


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.1f} %"


USED = (
    Column(title="memory", take="memory_bytes", tell=_megabytes),
    Column(title="cpu", take="cpu_percent", tell=_percent),
)
ROW = (
    *columns("id", "name"),
    Column(title="state", take=_state),
    *columns("workers", "in_flight"),
    *USED,
    *columns("roles", "beat_at"),
)
PAGE = (*ROW, *columns("host", "pid", "version", "started_at", "paused_at", "lease_until"))
LEADER = columns("node_id", "name", "term", "elected_at", "lease_until")


def ls(*, reading: Reading = READ) -> None:
    """List nodes, living ones first."""
    show_whole(reading, "/v1/nodes", ROW, none="no node has registered")


def get(
    node: Annotated[str, Parameter(metavar="NODE", help="Id of the node, node_…")],
    /,
    *,
    reading: Reading = READ,
) -> None:
    """Show one node."""
    with reading.client() as client:
        show_one(reading, client.get(f"/v1/nodes/{segment(node)}"), PAGE)


def leader(*, reading: Reading = READ) -> None:
    """Show who leads; nobody does while an election is under way, or without the role `leader`."""
    with reading.client() as client:
        show_one(reading, client.get("/v1/leader"), LEADER)
