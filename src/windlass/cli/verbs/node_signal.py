"""`windlass node signal`: tell nodes something and wait until they have done it."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter

from windlass.cli.exits import Exit
from windlass.cli.http.listing import show_one
from windlass.cli.limits import CALL_SECONDS
from windlass.cli.options import READ, Reading
from windlass.cli.show.table import Column, columns, show_table
from windlass.cli.typed import json_object, seconds

ROW = (
    *columns("node"),
    Column(title="acknowledged", take="acknowledged"),
    Column(title="answer", take="answer"),
)


def signal(
    name: Annotated[str, Parameter(metavar="NAME", help="Such as ping, reload, invalidate.")],
    /,
    *,
    to: Annotated[
        list[str] | None, Parameter(metavar="NODE", help="Id of a node, node_…; else all.")
    ] = None,
    payload: Annotated[str | None, Parameter(metavar="JSON", help="Or @file, or -.")] = None,
    wait: Annotated[str, Parameter(metavar="TIME", show_default=True, help="How long.")] = "5s",
    reading: Reading = READ,
) -> int:
    """Tell nodes something and wait until each has done it.

    Exits with 7 when a node did not acknowledge, and with 1 when one answered with an error.
    """
    waits = seconds("--wait", wait)
    body: dict[str, Any] = {"targets": to or "all", "name": name, "wait": waits}
    if payload is not None:
        body["payload"] = json_object("--payload", payload)
    with reading.client() as client:
        answer = client.post("/v1/signals", body, seconds=waits + CALL_SECONDS)
    said = answer.value
    if reading.output == "table":
        show_table(ROW, _rows(said), none="no node lives")
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
