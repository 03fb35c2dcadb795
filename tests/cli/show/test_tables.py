"""Every list at a terminal of 80 columns: no line is wider, whatever it holds.

The commands are found in the table of commands, and what a server answers is made from the OpenAPI
document: a new list is held to it without a word here.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any, Final
from uuid import uuid4

import pytest
from cyclopts import App

from tests.cli.peer import Peer
from tests.cli.server import running_server
from tests.cli.show.realistic import Realistic
from tests.cli.show.test_terminal import environment, read_terminal, terminal
from windlass.cli.app import build
from windlass.cli.show.fit import width
from windlass.ids import PREFIXES, uuid7

# What has no end of its own, or goes by a file; none of them is a list.
LEFT_ALONE: Final = {
    "doctor": "reads a database",
    "job submit": "needs a kind, or a file",
    "task run": "takes NAME=VALUE",
    "event tail": "goes on for ever",
    "listen": "goes on for ever",
    "execution watch": "waits for an end",
    "job watch": "waits for an end",
    "operation watch": "waits for an end",
    "node signal": "its answers are by the ids beside them, which no schema says",
    "node resize": "takes a number behind a node",
    "schedule backfill": "needs options",
    "schedule create": "needs options",
    "schedule edit": "needs options",
    "schedule import celery": "reads an app",
    "schedule import crontab": "reads a file",
    "secret rotate": "asks for a value",
    "secret set": "asks for a value",
    "workflow apply": "reads a file",
    "workflow validate": "reads a file",
    "queue set": "needs options",
    "target set": "needs options",
    "user add": "needs options",
    "user set": "needs options",
    "key add": "needs options",
    "key set": "needs options",
}
# Lists that must be among those that were found: the walk sees what it is there for.
KNOWN: Final = {
    *("job ls", "job attempts", "job deliveries", "job events", "job logs", "dead ls"),
    *("dead groups", "execution ls", "execution jobs", "execution events", "node ls", "task ls"),
    *("queue ls", "schedule ls", "schedule firings", "schedule next", "target ls", "lock ls"),
    *("secret ls", "operation ls", "workflow ls", "workflow versions"),
    *("event ls", "approval ls", "stats", "config show"),
    *("user ls", "key ls", "session ls"),
}
# Runs each command line as `windlass` would, and says where its output begins.
RUN: Final = """
import json, signal, sys
from windlass.cli.launch import launch
for words in json.loads(sys.argv[1]):
    signal.alarm(30)
    print("\\n@@", *words[:int(words.pop(0))], flush=True)
    code = launch(words)
    sys.stdout.flush()
    print("\\n@@ exit", int(code), flush=True)
"""
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")
_BOLD: Final = "\x1b[1m"


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    with (
        running_server(tmp_path_factory.mktemp("tables")) as server,
        urllib.request.urlopen(f"{server.url}/openapi.json", timeout=30) as answer,
    ):
        found: dict[str, Any] = json.load(answer)
    return found


def commands(app: App, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command that shows something in a format of one's choice."""
    function = app.default_command
    taken = inspect.signature(function).parameters.keys() if function and path else ()
    if {"reading", "output"}.intersection(taken):
        yield path, function
    for name in app:
        if not name.startswith("-"):
            yield from commands(app[name], (*path, name))


def argument(name: str, annotation: object) -> str:
    noun = name.removesuffix("s")
    if noun in PREFIXES and noun not in ("workflow", "schedule"):
        return PREFIXES[noun] + (uuid4() if noun == "node" else uuid7()).hex
    return "7" if "int" in str(annotation) else "billing"


def arguments(function: Callable[..., Any]) -> list[str]:
    """A word for each of those that it must have."""
    return [
        argument(param.name, param.annotation)
        for param in inspect.signature(function, eval_str=True).parameters.values()
        if param.kind is param.VAR_POSITIONAL
        or (param.kind is not param.KEYWORD_ONLY and param.default is param.empty)
    ]


def shown(peer: Peer, lines: list[list[str]], columns: int) -> dict[str, tuple[int, list[str]]]:
    """What each command line printed at a terminal, and its exit code."""
    with terminal() as (ours, theirs):
        process = subprocess.Popen(
            [sys.executable, "-c", RUN, json.dumps(lines)],
            env=environment(peer, columns),
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        text = read_terminal(ours, lambda _: None).replace("\r\n", "\n")
        assert process.wait(30) == 0, text[-3000:]
    found = re.findall(r"\n@@ (?!exit)(.*)\n([^@]*(?:@(?!@)[^@]*)*?)\n@@ exit (\d+)\n", text)
    return {name: (int(code), out.splitlines()) for name, out, code in found}


def is_table(lines: list[str]) -> bool:
    """Its titles are bold."""
    return any(line.startswith(_BOLD) for line in lines)


@pytest.mark.parametrize("columns", [80, 100, 60])
def test_no_line_of_any_list_is_wider_than_the_terminal(
    peer: Peer, document: dict[str, Any], columns: int
) -> None:
    peer.answer_by(Realistic(document).answer)
    found = {" ".join(path): (path, arguments(function)) for path, function in commands(build())}
    assert LEFT_ALONE.keys() <= found.keys(), "no command of this name any more"
    wanted = [
        [str(len(path)), *path, *words]
        for name, (path, words) in found.items()
        if name not in LEFT_ALONE
    ]
    outputs = shown(peer, wanted, columns)
    assert len(outputs) == len(wanted)
    failed = {name: lines for name, (code, lines) in outputs.items() if code not in (0, 1)}
    assert not failed, "a list among these would not be looked at"
    tables = {name: lines for name, (_, lines) in outputs.items() if is_table(lines)}
    assert tables.keys() >= KNOWN
    wide = {
        name: bare
        for name, lines in tables.items()
        for line in lines
        if width(bare := _COLOUR.sub("", line)) > columns
    }
    assert not wide, json.dumps(wide, indent=1, ensure_ascii=False)
