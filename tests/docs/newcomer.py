"""Somebody who reads a page from its top to its end, in a folder of his own, and does what stands
there: with a shell that remembers, an interpreter that remembers, and a terminal more for each
program that runs until it is told to stop.

What is changed of what stands there, and nothing else is:

- the ports 5777 and 5780, folders below / and addresses of networks are ones of this test's own;
- `make up` is `windlass up`, for whoever has no Makefile in his folder;
- `job_…` and its like are the last id of that sort that was told; JOB, NODE, … are variables of the
  shell that tests/docs/readers.py sets.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from select import select
from types import TracebackType
from typing import Final, Self

from tests.docs.pages import Step
from tests.house.repository import ROOT
from tests.ports import free_port
from windlass.embedded.binaries import postgres_bin_dir

SECONDS_MAX: Final = 90.0
REST_SECONDS: Final = 0.02

# What runs until it is told to stop, by what it says when it is there.
_LASTS: Final = (
    (re.compile(r"\bwindlass up\b"), r"^ready: "),
    (re.compile(r"\bwindlass node (?=-)"), r"^ready: "),
    (re.compile(r"\bwindlass listen\b"), r"^listening: "),
    (re.compile(r"\bwindlass event tail\b"), r"^\d\d:\d\d:\d\d"),
)
_META: Final = re.compile(r"(?<=\s)(JOB|NODE|PID|HOST|NAME)(?=\s|$)")
_ID_LEFT_OUT: Final = re.compile(r"\b([a-z]+)_[0-9a-f]*…")
_ID: Final = re.compile(r"\b([a-z]+)_[0-9a-f]{16,}\b")

# Typed at first: what an interactive shell has, and a door to the database.
_PROFILE: Final = """\
exec 2>>bash.log
shopt -s expand_aliases
set -m
api() {
    curl -sS --fail-with-body -X "$1" "$WINDLASS_URL$2" -H "Authorization: Bearer $WINDLASS_TOKEN" \
        -H 'Content-Type: application/json' "${@:3}"
}
db() { "$PSQL" -X -v ON_ERROR_STOP=1 "$DATABASE_URL" "$@"; }
"""

_INTERPRETER: Final = """\
import contextlib, io, json, os, sys, traceback
told, known = os.fdopen(os.dup(1), "w"), {"__name__": "__console__"}
os.dup2(os.open("python.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
os.dup2(2, 1)
sys.path.insert(0, os.getcwd())

def pasted(name, source):
    exec(compile(source, name, "exec"), known)

def typed(line):
    try:
        exec(compile(line, "<stdin>", "single"), known)
    except Exception as error:
        print(*traceback.format_exception_only(error), sep="", end="")

for line in sys.stdin:
    asked, said, failed = json.loads(line), io.StringIO(), None
    os.environ.update(asked["environ"])
    with contextlib.redirect_stdout(said):
        try:
            for name, source in asked["pasted"]:
                pasted(name, source)
            for typing in asked["typed"]:
                typed(typing)
        except BaseException:
            failed = traceback.format_exc()
    print(json.dumps({"said": said.getvalue(), "failed": failed}), file=told, flush=True)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    text: str
    code: int | None = 0  # None: it still runs


class Newcomer:
    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        """`environ` has what leads to a Windlass, if one is up before the page is read."""
        self.folder = folder
        self.words: dict[str, str] = {}  # of the page, and what they are here
        self._port, self._receiver = free_port(), free_port()
        ours = {
            name: text
            for name, text in os.environ.items()
            if not name.startswith(("WINDLASS_", "DJANGO_", "PYTEST_", "PG"))
        }
        self.environ = {
            **ours,
            "HOME": str(folder),
            "XDG_CONFIG_HOME": str(folder / "config"),
            "XDG_STATE_HOME": str(folder / "state"),
            "PATH": f"{folder / 'bin'}:{folder / '.venv' / 'bin'}:{os.environ['PATH']}",
            "PYTHONPATH": str(folder),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PSQL": str(postgres_bin_dir() / "psql"),
            "NOBODY": f"127.0.0.1:{free_port()}",  # an address at which nobody answers
            "SECOND_PORT": str(free_port()),
            "ROOT": str(ROOT),
            "WINDLASS_PORT": str(self._port),
            "WINDLASS_URL": f"http://127.0.0.1:{self._port}",
            "WINDLASS_NODE_NAME": "vm",
            **environ,
        }
        (folder / ".venv").symlink_to(Path(sys.prefix))
        (folder / "bin").mkdir(exist_ok=True)
        self._typed = folder / "typed"
        self._typed.mkdir()
        self._lasting: dict[int, tuple[str, Path]] = {}  # process groups
        self._ids: dict[str, str] = {}
        self._python: subprocess.Popen[str] | None = None
        self._shell = subprocess.Popen(
            ["bash", "--norc", "--noprofile"],
            cwd=folder,
            env=self.environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.enter(_PROFILE)

    # -- what stands on the page -------------------------------------------------------------------

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.here(text))
        if path.parent.name == "bin":
            path.chmod(0o755)

    def enter(self, command: str) -> Said:
        """A line at the prompt. One that lasts is begun in a terminal of its own."""
        command = self._with_ids(self.here(command))
        print(f"$ {command}")  # for whoever reads a failed test
        for pattern, until in _LASTS:
            if pattern.search(command):
                return self._begin(command, until)
        said = self._run(command)
        self._ids |= {found[1]: found[0] for found in _ID.finditer(said.text)}
        return said

    def paste(self, step: Step) -> str:
        """Into the interpreter; what it prints."""
        source = self.here(step.text)
        if step.language == "pycon":
            typed = "\n".join(line[4:] for line in source.splitlines())
            return self._interpret(pasted=[], typed=[typed])
        return self._interpret(pasted=[(f"{step.page}:{step.line}", source)], typed=[])

    def here(self, text: str) -> str:
        """A page's words where this test may follow them."""
        for word, other in self.words.items():
            text = text.replace(word, other)
        text = text.replace("windlass listen ", f"windlass listen --port {self._receiver} ")
        text = re.sub(r"make up(?: ARGS='(.*?)')?", r"windlass up \1", text)
        text = re.sub(r"(?<![\w.}])/(srv|etc|backup|backups)/", rf"{self.folder}/\1/", text)
        text = text.replace("10.0.0.5", "127.0.0.1")
        port = self.environ["WINDLASS_URL"].rpartition(":")[2]
        return text.replace("5777", port).replace("5780", str(self._receiver))

    # -- how ---------------------------------------------------------------------------------------

    def _with_ids(self, command: str) -> str:
        def last(found: re.Match[str]) -> str:
            return self._ids[found[1]] if found[1] in self._ids else found[0]

        return _META.sub(r'"$\1"', _ID_LEFT_OUT.sub(last, command))

    def _file(self, command: str) -> Path:
        path = self._typed / f"{len(list(self._typed.iterdir()))}.sh"
        path.write_text(command + "\n")
        return path

    def _run(self, command: str) -> Said:
        path = self._file(command)
        said = path.with_suffix(".said")
        [code] = self._tell(f". {path} </dev/null >{said} 2>&1; echo $?", command)
        return Said(text=said.read_text(), code=int(code))

    def _begin(self, command: str, until: str) -> Said:
        if "windlass up" in command:
            self._interrupt("windlass up")  # Ctrl-C: one has the port and the folder
        path = self._file(command)
        said = path.with_suffix(".said")
        said.touch()
        [group] = self._tell(f"{{ . {path}; }} </dev/null >{said} 2>&1 & echo $!", command)
        self._lasting[int(group)] = command, said

        def is_there() -> bool:
            is_gone = _is_gone(int(group))  # asked first: what it said before it went is there
            told = re.search(until, said.read_text(), re.MULTILINE)
            assert told or not is_gone, f"{command}\n{said.read_text()}"
            return told is not None

        _until(is_there, lambda: f"{command}\n{said.read_text()}")
        return Said(text=said.read_text(), code=None)

    def _tell(self, line: str, command: str) -> list[str]:
        """One line for the shell, and the one that it answers."""
        assert self._shell.stdin is not None
        assert self._shell.stdout is not None
        self._shell.stdin.write(line + "\n")
        self._shell.stdin.flush()
        answer = _line_of(self._shell, command)
        return [answer.strip()]

    def _interpret(self, *, pasted: list[tuple[str, str]], typed: list[str]) -> str:
        # It is begun in the same shell, as it were: what was exported since is known.
        pairs = self._run("env -0").text.split("\0")
        environ = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
        if self._python is None:
            self._python = subprocess.Popen(
                [sys.executable, "-c", _INTERPRETER],
                cwd=self.folder,
                env=environ,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
        assert self._python.stdin is not None
        self._python.stdin.write(
            json.dumps({"environ": environ, "pasted": pasted, "typed": typed}) + "\n"
        )
        self._python.stdin.flush()
        source = "\n".join([*(text for _, text in pasted), *typed])
        answer = json.loads(_line_of(self._python, source))
        assert answer["failed"] is None, f"{source}\n{answer['said']}{answer['failed']}"
        said: str = answer["said"]
        return said

    def _interrupt(self, words: str) -> None:
        """Ctrl-C for what was begun with these words."""
        for group in [g for g, (command, _) in self._lasting.items() if words in command]:
            command, said = self._lasting.pop(group)
            # Its parent is our shell, which remembers its end.
            with suppress(ProcessLookupError):
                os.killpg(group, signal.SIGINT)
            _until_gone(group, f"{command} stops", said)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        groups = list(self._lasting)
        try:
            self._interrupt("")
        finally:
            for process in filter(None, (self._python, self._shell)):
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
            for group in groups:
                with suppress(ProcessLookupError):
                    os.killpg(group, signal.SIGKILL)


def _until_gone(group: int, what: str, said: Path) -> None:
    _until(lambda: _is_gone(group), lambda: f"{what}\n{said.read_text()}")


def _is_gone(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


def _line_of(process: subprocess.Popen[str], asked: str) -> str:
    """The next line that it says, within the time that there is."""
    assert process.stdout is not None
    ready, _, _ = select([process.stdout], [], [], SECONDS_MAX)
    assert ready, f"not within {SECONDS_MAX:g} s: {asked}"
    return process.stdout.readline()


def _until(is_so: Callable[[], bool], what: Callable[[], str]) -> None:
    deadline = time.monotonic() + SECONDS_MAX
    while not is_so():
        assert time.monotonic() < deadline, f"not within {SECONDS_MAX:g} s: {what()}"
        time.sleep(REST_SECONDS)
