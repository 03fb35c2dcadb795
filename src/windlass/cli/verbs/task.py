"""`windlass task …`: the Python functions that nodes have; look one up, run one by hand."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Annotated, Any, Final

from cyclopts import App, Parameter

from windlass.cli.exits import BadUsage, Exit
from windlass.cli.http.client import Client, segment
from windlass.cli.http.listing import show_one, show_whole
from windlass.cli.http.problem import Refused
from windlass.cli.http.wait import JOB, wait_and_show
from windlass.cli.options import READ, Reading
from windlass.cli.show.job import sentence
from windlass.cli.show.output import plain, show_line
from windlass.cli.show.table import Column, columns, prose, spare
from windlass.cli.values import json_object, seconds
from windlass.cli.verbs.job.submission import AS_TYPED, Submission

app = App(name="task", help="Look up the Python functions that nodes have; run one by hand.")
Name = Annotated[str, Parameter(metavar="TASK", help="Name of the task; `task ls` has them.")]
Thing = Mapping[str, Any]
# JSON Schema has no word for "anything": hints that JSON knows nothing of allow it.
ANYTHING: Final = "any"


def signature(task: Thing) -> str:
    """`send_mail(to: string, subject: string = …) -> string`."""
    result = type_of(task.get("result") or {})
    shown = [
        f"{name}: {type_of(schema)}" + ("" if name in _required(task) else " = …")
        for name, schema in _parameters(task).items()
    ]
    if task.get("parameters") is None:
        shown = ["…"]
    return f"{task['name']}({', '.join(shown)})" + (f" -> {result}" if result != ANYTHING else "")


def type_of(schema: Thing) -> str:
    """In a word or two."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema["enum"])
    for union in ("anyOf", "oneOf"):
        if union in schema:
            return " | ".join(type_of(part) for part in schema[union])
    found = schema.get("type", ANYTHING)
    if found == "array" and isinstance(schema.get("items"), Mapping):
        return f"[{type_of(schema['items'])}]"
    return " | ".join(found) if isinstance(found, list) else str(found)


def _parameters(task: Thing) -> dict[str, Thing]:
    return dict((task.get("parameters") or {}).get("properties") or {})


def _required(task: Thing) -> list[str]:
    return list((task.get("parameters") or {}).get("required") or ())


def _queue(task: Thing) -> str:
    return str((task.get("options") or {}).get("queue") or "default")


def _first_line(task: Thing) -> str:
    return str(task.get("doc") or "").partition("\n")[0]


ROW: Final = (
    *columns("name"),
    *spare(Column(title="queue", take=_queue), Column(title="nodes", take="node_count")),
    *columns("queued", "running", "dead"),
    prose("does", _first_line),
)
PAGE: Final = (
    Column(title="task", take=signature),
    Column(title="does", take="doc"),
    *columns("app"),
    Column(title="queue", take=_queue),
    *columns("is_async", "is_isolated", "options", "queued", "running", "dead", "node_count"),
    *columns("nodes", "described_at"),
)


@app.command
def ls(*, reading: Reading = READ) -> None:
    """List tasks: who has them, and how many of their jobs wait, run, are dead."""
    none = "no node has told of a task; start one with --app module:attr"
    show_whole(reading, "/v1/tasks", ROW, none=none)


@app.command
def get(task: Name, /, *, reading: Reading = READ) -> None:
    """Show one task: what it takes and gives."""
    with reading.client() as client:
        show_one(reading, client.get(f"/v1/tasks/{segment(task)}"), PAGE)


@app.command
def run(
    task: Name,
    /,
    *arguments: Annotated[str, Parameter(metavar="NAME=VALUE", allow_leading_hyphen=False)],
    job: Submission = AS_TYPED,
    wait: Annotated[
        bool | str,
        Parameter(
            metavar="[=DURATION]",
            requires_equals=True,
            help="Stay until the job has ended; with =20s no longer than that.",
        ),
    ] = False,
    reading: Reading = READ,
) -> int:
    """Run a task as a job: `windlass task run send_mail to=a@b.c --wait`.

    The job gets the task's own queue, retries and timeout, unless options say otherwise. --input
    is an object of arguments by name. At a terminal, arguments that are missing are asked for.
    """
    longest = seconds("--wait", wait) if isinstance(wait, str) else None
    with reading.client() as client:
        known = _find(client, task)
        given = {} if job.input is None else json_object("--input", job.input)
        given |= _read_arguments(known, arguments)
        given |= _ask_for_missing(known, given)
        body = {
            **(known.get("options") or {}),
            **job.body("python", client),
            "input": {"task": task, "kwargs": given},
        }
        answer = client.post("/v1/jobs", body)
        if wait is not False:
            return wait_and_show(JOB, client, answer, reading.output, longest)
    if reading.output == "table":
        show_line(sentence(answer.value))
    else:
        show_one(reading, answer, ())
    return Exit.OK


def _find(client: Client, name: str) -> Thing:
    """The task; or what may have been meant by the name."""
    try:
        return client.get(f"/v1/tasks/{segment(name)}").value
    except Refused as refused:
        if refused.code != Exit.NOT_FOUND:
            raise
        names = [task["name"] for task in client.get("/v1/tasks").data]
        near = get_close_matches(name, names, n=1)
        hint = f"did you mean {near[0]}?" if near else "`windlass task ls` lists what there is"
        raise BadUsage(f"no node has told of a task {name!r}; {hint}") from None


def _read_arguments(task: Thing, arguments: tuple[str, ...]) -> dict[str, Any]:
    known = _parameters(task)
    takes_any = (task.get("parameters") or {"additionalProperties": True}).get(
        "additionalProperties"
    )
    given: dict[str, Any] = {}
    for argument in arguments:
        name, equals, text = argument.partition("=")
        if not equals:
            raise BadUsage(f"{argument!r} is no argument; write NAME=VALUE, as in {_example(task)}")
        if name not in known and not takes_any:
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}? " if near else ""
            raise BadUsage(f"{task['name']} takes no {name!r}; {hint}it is {signature(task)}")
        given[name] = read_value(known.get(name, {}), text)
    return given


def read_value(schema: Thing, text: str) -> Any:
    """What was typed, as the task's hint wants it; the task itself judges the rest."""
    types = schema.get("type")
    if types == "string" or (isinstance(types, list) and types[:1] == ["string"]):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def _ask_for_missing(task: Thing, given: Thing) -> dict[str, Any]:
    missing = [name for name in _required(task) if name not in given]
    if not missing:
        return {}
    if not sys.stdin.isatty():
        raise BadUsage(f"{', '.join(missing)} must be given; it is {signature(task)}")
    asked: dict[str, Any] = {}
    for name in missing:
        schema = _parameters(task).get(name, {})
        sys.stderr.write(plain(f"{name} ({type_of(schema)}): "))
        sys.stderr.flush()
        line = sys.stdin.readline()
        if not line:
            raise BadUsage(f"{name} must be given; it is {signature(task)}")
        asked[name] = read_value(schema, line.rstrip("\n"))
    return asked


def _example(task: Thing) -> str:
    names = list(_parameters(task)) or ["name"]
    return f"windlass task run {task['name']} {names[0]}=…"
