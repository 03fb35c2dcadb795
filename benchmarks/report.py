"""Figures for people (a table) and for the next comparison (JSON under baselines/)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from benchmarks.machine import Machine
from benchmarks.measure import Figure, shown

BASELINES = Path(__file__).parent / "baselines"
FILE_COLUMNS = 140


def show(figures: Sequence[Figure], machine: Machine, *, title: str) -> None:
    """Print the table, in full width when it goes to a file."""
    console = Console()
    if not console.is_terminal:
        console.width = FILE_COLUMNS
    console.print(table(figures, machine, title=title))


def table(figures: Sequence[Figure], machine: Machine, *, title: str) -> Table:
    lines = Table(title=title, caption=_caption(machine), caption_justify="left")
    lines.add_column("what")
    for heading in ("measured", "bare", "ratio", "spread", "wanted"):
        lines.add_column(heading, justify="right")
    lines.add_column("holds", justify="center")
    for figure in figures:
        lines.add_row(
            figure.name if figure.ratio_to is None else f"{figure.name} vs {figure.ratio_to}",
            f"{_number(figure.value)} {figure.unit}",
            _number(figure.bare),
            _ratio(figure.ratio),
            _spread(figure),
            _wanted(figure),
            _holds(figure.holds),
        )
    return lines


def save(name: str, figures: Sequence[Figure], machine: Machine, *, taken_at: datetime) -> Path:
    """Write the figures where the next run can be compared with them; returns the file."""
    assert name.replace("-", "").isalnum(), f"not a name for a baseline: {name!r}"
    kept = {
        "name": name,
        "taken_on": taken_at.astimezone(UTC).date().isoformat(),
        "machine": asdict(machine),
        "figures": [{**asdict(figure), "holds": figure.holds} for figure in figures],
    }
    BASELINES.mkdir(exist_ok=True)
    path = BASELINES / f"{name}.json"
    path.write_bytes(msgspec.json.format(msgspec.json.encode(_rounded(kept)), indent=2) + b"\n")
    return path


def _caption(machine: Machine) -> Text:
    facts = (
        f"{machine.cores} cores ({machine.architecture}), {machine.kernel}, "
        f"Python {machine.python}, PostgreSQL {machine.postgresql}, "
        f"fsync {machine.fsync}, synchronous_commit {machine.synchronous_commit}"
    )
    return Text(facts if machine.is_durable else f"{facts}: NOT DURABLE, compare with nothing")


def _number(value: float | None) -> str:
    return "" if value is None else shown(value)


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}×"


def _spread(figure: Figure) -> str:
    show = _number if figure.ratio is None else _ratio
    return f"{show(figure.spread.low)} .. {show(figure.spread.high)}"


def _wanted(figure: Figure) -> str:
    show = _number if figure.ratio is None else _ratio
    bounds = (("≥", figure.at_least), ("≤", figure.at_most))
    return " ".join(f"{sign} {show(bound)}" for sign, bound in bounds if bound is not None)


def _holds(holds: bool | None) -> Text:
    match holds:
        case None:
            return Text("")
        case True:
            return Text("yes", style="green")
        case False:
            return Text("NO", style="bold red")


def _rounded(value: object) -> object:
    """Four significant digits: more would only make two baselines differ for no reason."""
    match value:
        case float():
            return float(f"{value:.4g}")
        case dict():
            return {key: _rounded(inner) for key, inner in value.items()}
        case list():
            return [_rounded(inner) for inner in value]
        case _:
            return value
