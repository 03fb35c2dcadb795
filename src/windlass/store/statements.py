"""The SQL statements, by the name of their file below sql/, in whatever room it stands.

A statement may call its parameters by the names of its header (`$node_id` for the third of
`-- params: id uuid, at timestamptz, node_id uuid`), and who runs it may `bind` them so: nobody
counts to 27. And it may leave the columns of a job to the one list of them, COLUMNS in
model/job/draft.py, by which these are filled in:

    {job.shown}               id, queue, …            a use of columns (LASTS is `lasting`)
    {job.claimed of j}        j.id, j.queue, …
    {job.given}               queue, kind, …          what a draft has an attribute for
    {job.given of g}          …, g.retry::json, …     of rows that were arrays of parameters,
    {job.given as arrays}     $queue::text[], …       which are these,
    {job.given as params}     queue text[], …         and in the header
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from operator import itemgetter
from typing import Any, Final

from windlass.model.job.draft import GIVEN, Column, ColumnUse, names

_PARAMS: Final = re.compile(r"^-- params:(.*\n(?:--  .*\n)*)", re.MULTILINE)
_REMARK: Final = re.compile(r"\([^()]*\)")
_TYPES: Final = "uuid|text|json|int2|int4|int8|float8|bool|bytea|timestamptz|date|tid"
_PARAM: Final = re.compile(rf"(?:^|,)\s*([a-z_]+) ((?:{_TYPES})(?:\[\])?)(?![a-z])")
_NAMED: Final = re.compile(r"\$([a-z][a-z_]*)")
_LIST: Final = re.compile(r"\{job\.([a-z]+)(?: (of|as) ([a-z]+))?\}")
_USES: Final = {"lasting": ColumnUse.LASTS, "shown": ColumnUse.SHOWN, "claimed": ColumnUse.CLAIMED}


@cache
def statement(name: str) -> str:
    text = _text(name)
    numbers = {param: number for number, (param, _) in enumerate(parameters(name), 1)}
    return _NAMED.sub(lambda found: f"${numbers[found[1]]}", text)


@cache
def parameters(name: str) -> tuple[tuple[str, str], ...]:
    """Name and type of each, as its header has them."""
    found = _PARAMS.search(_text(name))
    header = "" if found is None else found[1].replace("\n--", " ").partition("returns:")[0]
    while (shorter := _REMARK.sub("", header)) != header:
        header = shorter
    return tuple(_PARAM.findall(header))


def bind(name: str, values: Mapping[str, Any]) -> tuple[Any, ...]:
    """`values` in the order in which the statement takes them. Raises KeyError for one that lacks,
    TypeError for one that it does not know.
    """
    bound = _binder(name)(values)
    if len(bound) != len(values):
        unknown = values.keys() - dict(parameters(name)).keys()
        raise TypeError(f"{name} has no parameter {', '.join(sorted(unknown))}; see its header")
    return bound


@cache
def _binder(name: str) -> Callable[[Mapping[str, Any]], tuple[Any, ...]]:
    order = [param for param, _ in parameters(name)]
    assert len(order) > 1, "who has one parameter need not name it"
    return itemgetter(*order)


@cache
def _text(name: str) -> str:
    """With the columns of jobs filled in."""
    return _LIST.sub(lambda found: _columns(*found.groups()), _texts()[name])


def _columns(which: str, how: str | None, whom: str | None) -> str:
    if which != "given":
        prefix = f"{whom}." if how == "of" else ""
        return ", ".join(prefix + column for column in names(_USES[which]))
    match how, whom:
        case "as", "params":
            shown = [f"{column.name} {_sent_type(column)}[]" for column in GIVEN]
        case "as", "arrays":
            shown = [f"${column.name}::{_sent_type(column)}[]" for column in GIVEN]
        case "of", _:
            shown = [f"{whom}.{column.name}{_cast(column)}" for column in GIVEN]
        case _:
            shown = [column.name for column in GIVEN]
    return ", ".join(shown)


def _sent_type(column: Column) -> str:
    # The driver has no codec of its own for JSON: it is text until PostgreSQL has it.
    return "text" if column.type == "json" else column.type


def _cast(column: Column) -> str:
    return "" if _sent_type(column) == column.type else f"::{column.type}"


@cache
def _texts() -> dict[str, str]:
    return {
        entry.name.removesuffix(".sql"): entry.read_text(encoding="utf-8")
        for room in (files("windlass.store") / "sql").iterdir()
        if room.is_dir()
        for entry in room.iterdir()
    }
