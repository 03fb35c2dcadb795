"""`windlass node ls|get`: look at nodes. (`windlass node` itself runs one; see cli/node.py.)"""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from windlass.cli.client import segment
from windlass.cli.listing import show_one, show_whole
from windlass.cli.options import READ, Reading
from windlass.cli.table import columns

ROW = columns("id", "name", "state", "workers", "in_flight", "roles", "beat_at")
PAGE = (*ROW, *columns("host", "pid", "version", "started_at", "lease_until"))


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
