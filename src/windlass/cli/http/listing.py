"""Read a list: follow its cursors (paging) as far as asked, and show it in the format asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from windlass.cli.exits import BadUsage
from windlass.cli.http.client import Answer, Client, Query
from windlass.cli.options import Reading
from windlass.cli.show.output import compact, say, show_json, show_json_line, show_line
from windlass.cli.show.table import Column, show_record, show_table
from windlass.limits import PAGE_MAX

# A path, or the query of a list; or what finds them out, where an id may have been shortened.
Path = str | Callable[[Client], str]
Wanted = Query | Callable[[Client], Query]


def show_list(
    reading: Reading,
    path: Path,
    query: Wanted,
    cols: Sequence[Column],
    *,
    limit: int | None,
    none: str,
) -> None:
    """Pages of `path` until `limit` things were shown. None: all there are."""
    if limit is not None and limit < 1:
        raise BadUsage("--limit must be 1 or more")
    with reading.client() as client:
        pages = _pages(client, _path(client, path), _query(client, query), limit)
        match reading.output:
            case "json":
                _show_as_one(list(pages))
            case "jsonl" | "id" as output:
                # Written page by page: a million lines need no memory and start at once.
                for page in pages:
                    for thing in page.data:
                        _show_one_line(thing, output)
            case "table":
                _show_as_table(list(pages), cols, none)


def show_whole(reading: Reading, path: Path, cols: Sequence[Column], *, none: str) -> None:
    """A list that the server gives in one piece."""
    with reading.client() as client:
        answer = client.get(_path(client, path))
    data = answer.data
    match reading.output:
        case "json":
            show_json(answer.text)
        case "jsonl" | "id" as output:
            for thing in data:
                _show_one_line(thing, output)
        case "table":
            show_table(cols, data, none)


def show_one(reading: Reading, answer: Answer, cols: Sequence[Column]) -> None:
    thing = answer.value
    match reading.output:
        case "json":
            show_json(answer.text)
        case "jsonl" | "id" as output:
            _show_one_line(thing, output)
        case "table":
            show_record(cols, thing)


def name_of(thing: dict[str, Any]) -> str:
    """What other commands take to mean this thing."""
    from windlass.ids import PREFIXES  # takes long to import, and a table does without

    if str(thing.get("id", "")).startswith(PREFIXES["workflow"]):
        return str(thing["name"])
    fields = ("id", "job_id", "execution_id", "node_id", "name", "host")
    found = next((thing[field] for field in fields if thing.get(field)), None)
    if found is None:
        raise BadUsage("these have no id; use -o json or -o jsonl")
    return str(found)


def _path(client: Client, path: Path) -> str:
    return path if isinstance(path, str) else path(client)


def _query(client: Client, query: Wanted) -> Query:
    return query(client) if callable(query) else query


def _pages(client: Client, path: str, query: Query, limit: int | None) -> Iterator[Answer]:
    cursor: str | None = None
    left = limit
    while left is None or left > 0:
        size = PAGE_MAX if left is None else min(PAGE_MAX, left)
        answer = client.get(path, {**query, "limit": size, "cursor": cursor})
        yield answer
        left = None if left is None else left - len(answer.data)
        # An empty page may have a cursor: the server looked far enough for one answer.
        before, cursor = cursor, answer.value.get("next_cursor")
        if not cursor or cursor == before:
            return


def _show_as_one(pages: list[Answer]) -> None:
    if len(pages) == 1:
        show_json(pages[0].text)
        return
    data = [thing for page in pages for thing in page.data]
    show_json(compact({**pages[-1].value, "data": data}))


def _show_as_table(pages: list[Answer], cols: Sequence[Column], none: str) -> None:
    show_table(cols, [thing for page in pages for thing in page.data], none)
    if pages[-1].value.get("next_cursor"):
        say("there are more; --all shows every one")


def _show_one_line(thing: dict[str, Any], output: str) -> None:
    if output == "id":
        show_line(name_of(thing))
    else:
        show_json_line(thing)
