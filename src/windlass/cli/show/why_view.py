"""What people see of `job why`: the gates that hold a job back, and what comes next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from windlass.cli.http.client import Answer
from windlass.cli.http.listing import show_one
from windlass.cli.options import Reading
from windlass.cli.show.moment import when
from windlass.cli.show.output import show_line


def show_why(reading: Reading, answer: Answer) -> None:
    if reading.output == "table":
        for line in lines(answer.value):
            show_line(line)
    else:
        show_one(reading, answer, ())


def lines(why: Mapping[str, Any]) -> list[str]:
    """Where it is, then a line for each gate that is shut."""
    told = [f"{why['job_id']} is {why['state']}"]
    for gate in why["gates"]:
        times = [f"{word} {when(gate[word])}" for word in ("since", "until") if gate.get(word)]
        told.append("  " + ", ".join([gate["reason"], *times]))
    if not why["gates"]:
        told.append(f"  {why['summary']}")
    if why.get("estimated_start"):
        told.append(f"  it should start {when(why['estimated_start'])}")
    return told
