"""`windlass config show`: the settings a node would start with here, and who said so."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter

from windlass.cli.exits import BadUsage
from windlass.cli.options import Format
from windlass.cli.show.output import compact, show_json, show_json_line
from windlass.cli.show.table import columns, prose, show_table
from windlass.cli.show.unknown_settings import say_unknown
from windlass.config import load_settings, shown

app = App(name="config", help="Show the settings and where each one comes from.")


@app.command
def show(
    *,
    sources: bool = False,
    output: Annotated[Format, Parameter(name=("--output", "-o"), show_default=True)] = "table",
) -> None:
    """Show every setting: defaults, then windlass.toml, then WINDLASS_… variables.

    Secrets are not shown. All problems are reported at once (exit code 2).

    Parameters
    ----------
    sources
        Say where each one comes from.
    output
        How to print them.
    """
    loaded = load_settings({}, os.environ, Path.cwd())
    say_unknown(loaded)
    names = ("setting", "value", "source") if sources else ("setting", "value")
    rows = [
        {"setting": name, "value": getattr(loaded.settings, name), "source": source}
        for name, source in loaded.sources.items()
    ]
    match output:
        case "table":
            cols = (*columns("setting"), prose("value", is_folded=True), *columns(*names[2:]))
            told = [{**row, "value": shown(row["setting"], row["value"])} for row in rows]
            show_table(cols, told, none="there are no settings")
        case "json":
            show_json(compact([_object(row, names) for row in rows]))
        case "jsonl":
            for row in rows:
                show_json_line(_object(row, names))
        case "id":
            raise BadUsage("settings have no id; use -o json")


def _object(row: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """The row for a program: values keep their type, unless a secret had to be taken out."""
    return {name: row[name] for name in names} | {"value": _safe(row["setting"], row["value"])}


def _safe(setting: str, value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, tuple):
        return [_safe(setting, item) for item in value]
    masked = shown(setting, value)
    return str(value) if masked == repr(str(value)) else masked
