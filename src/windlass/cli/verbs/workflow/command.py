"""`windlass workflow …`: definitions, from files to versions and back; and running them."""

from __future__ import annotations

import sys
from typing import Annotated, Any, Literal

from cyclopts import App, Parameter

from windlass.cli.exits import BadUsage, Exit
from windlass.cli.http.client import Client, segment
from windlass.cli.http.each import for_each
from windlass.cli.http.listing import show_list, show_one
from windlass.cli.options import READ, SERVED, All, Limit, Reading, Server
from windlass.cli.show.output import show_json, show_json_line, show_line, show_value
from windlass.cli.show.workflow import PAGE, ROW, VERSION, show_diff
from windlass.cli.verbs.workflow.file import DefinitionFile, read_file, tell_problems, verdict
from windlass.cli.verbs.workflow.run import run
from windlass.limits import PAGE_DEFAULT
from windlass.model.workflow.diff import difference

Name = Annotated[str, Parameter(metavar="NAME", help="Name of the workflow.")]
Files = Annotated[
    str,
    Parameter(
        metavar="FILE",
        allow_leading_hyphen=True,
        help="A definition in YAML, or in JSON if it ends so; - is standard input.",
    ),
]
Number = Annotated[
    int | None, Parameter(metavar="N", help="Of this version; the newest unless said.")
]

app = App(name="workflow", help="Check, publish, compare and run workflows.")
app.command(run)


@app.command
def ls(*, limit: Limit = PAGE_DEFAULT, everything: All = False, reading: Reading = READ) -> None:
    """List workflows by name."""
    limit_or_all = None if everything else limit
    none = "no workflow is published yet: windlass workflow apply FILE"
    show_list(reading, "/v1/workflows", {}, ROW, limit=limit_or_all, none=none)


@app.command
def get(name: Name, /, *, reading: Reading = READ) -> None:
    """Show one workflow; -o json has its definition."""
    with reading.client() as client:
        show_one(reading, client.get(_path(name)), PAGE)


@app.command
def versions(
    name: Name,
    /,
    *,
    limit: Limit = PAGE_DEFAULT,
    everything: All = False,
    reading: Reading = READ,
) -> None:
    """List the versions of a workflow, newest first."""
    limit_or_all = None if everything else limit
    show_list(reading, f"{_path(name)}/versions", {}, VERSION, limit=limit_or_all, none="none")


@app.command
def validate(*files: Files, reading: Reading = READ) -> int:
    """Check definitions without publishing them; every problem is told with a JSON pointer.

    Exit code: 0 all are valid, 2 one is not.
    """
    if not files:
        raise BadUsage("say which: windlass workflow validate FILE…")
    code = Exit.OK
    with reading.client() as client:
        for path in files:
            found = verdict(client, read_file(path))
            code = code if found["valid"] else Exit.USAGE
            _show_verdict(reading, path, found)
    return code


@app.command
def apply(*files: Files, reading: Reading = READ) -> int:
    """Publish definitions; what is the newest version already stays as it is."""
    if not files:
        raise BadUsage("say which: windlass workflow apply FILE…")
    code = Exit.OK
    with reading.client() as client:
        for path in files:
            code = _apply(reading, client, read_file(path)) or code
    return code


@app.command
def diff(
    name: Name,
    file: Annotated[
        str | None, Parameter(metavar="FILE", help="Compare the newest version with this file.")
    ] = None,
    /,
    *,
    before: Annotated[
        int | None, Parameter(name="--from", metavar="N", help="The one before, unless said.")
    ] = None,
    after: Annotated[
        int | None, Parameter(name="--to", metavar="N", help="The newest, unless said.")
    ] = None,
    reading: Reading = READ,
) -> int:
    """Compare two versions of a workflow, or its newest one with a file.

    Exit code: 0 both ways; whether there is a difference is told, not signalled.
    """
    with reading.client() as client:
        if file is not None:
            if before is not None or after is not None:
                raise BadUsage("compare with a FILE, or two versions by --from and --to; not both")
            return _diff_file(reading, client, name, read_file(file))
        answer = client.get(f"{_path(name)}/diff", {"from": before, "to": after})
    found = answer.value
    if reading.output == "json":
        show_json(answer.text)
    else:
        _show_diff(reading, found, f"version {found['from']}", f"version {found['to']}")
    return Exit.OK


@app.command
def export(
    name: Name,
    /,
    *,
    form: Annotated[
        Literal["yaml", "json", "mermaid"], Parameter(name="--format", show_default=True)
    ] = "yaml",
    version: Number = None,
    server: Server = SERVED,
) -> None:
    """Write a definition to standard output: as YAML, JSON or a Mermaid flowchart."""
    with server.client() as client:
        answer = client.get(f"{_path(name)}/export", {"format": form, "version": version})
    # A file, byte for byte: what is piped must be what was published.
    sys.stdout.flush()
    sys.stdout.buffer.write(answer.text.encode())


@app.command
def delete(*names: Name, server: Server = SERVED) -> int:
    """Take no new executions of these workflows; those that run go on."""
    with server.client() as client:
        return for_each(
            names,
            lambda name: client.delete(_path(name)),
            lambda name, _: f"{name} deleted; publishing it again brings it back",
        )


def _apply(reading: Reading, client: Client, file: DefinitionFile) -> Exit:
    found = verdict(client, file)
    if not found["valid"]:
        tell_problems(file.path, found["errors"])
        return Exit.USAGE
    answer = file.send(client, "/v1/workflows")
    workflow = answer.value
    if reading.output != "table":
        show_one(reading, answer, ())
    elif answer.status == 201:
        show_line(f"{workflow['name']} version {workflow['version']} published")
    else:
        show_line(f"{workflow['name']} is version {workflow['version']} already")
    return Exit.OK


def _diff_file(reading: Reading, client: Client, name: str, file: DefinitionFile) -> int:
    found = verdict(client, file)
    if not found["valid"]:
        tell_problems(file.path, found["errors"])
        return Exit.USAGE
    published = client.get(_path(name)).value
    if published["definition"] is None:
        raise BadUsage(f"nothing of {name} is published yet")
    compared = difference(published["definition"], file.document())
    told = {"from": published["version"], "to": None, **compared.shown()}
    _show_diff(reading, told, f"version {published['version']}", file.path)
    return Exit.OK


def _show_diff(reading: Reading, found: dict[str, Any], before: str, after: str) -> None:
    match reading.output:
        case "json":
            show_value(found)
        case "jsonl":
            show_json_line(found)
        case "id":
            for step in (*found["removed"], *found["added"], *found["changed"]):
                show_line(step["id"])
        case "table":
            show_diff(found, before, after)


def _show_verdict(reading: Reading, path: str, found: dict[str, Any]) -> None:
    match reading.output:
        case "json":
            show_value(found)
        case "jsonl":
            show_json_line({"file": path, **found})
        case "id" | "table":
            tell_problems(path, found["errors"])
            if found["valid"]:
                show_line(path if reading.output == "id" else f"{path} is valid")


def _path(name: str) -> str:
    return f"/v1/workflows/{segment(name)}"
