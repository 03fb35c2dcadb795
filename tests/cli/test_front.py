"""The first thing anybody sees: the front page, fast, and the way from it to each command."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from importlib import import_module

import pytest
from cyclopts import App

from tests.cli.conftest import Windlass
from windlass import __version__
from windlass.cli.app import build
from windlass.cli.commands import COMMANDS

HEAVY = ("aiohttp", "asyncpg", "cyclopts", "http.client", "starlette", "msgspec", "redis", "rich")


def test_the_front_page_takes_less_than_150_ms() -> None:
    """Of a processor: how long that is by the clock depends on who else wants it."""

    def spent() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    def seconds() -> float:
        before = spent()
        command = [sys.executable, "-m", "windlass", "--help"]
        subprocess.run(command, check=True, capture_output=True)
        return spent() - before

    assert min(seconds() for _ in range(7)) < 0.150


def test_the_front_page_imports_nothing_heavy() -> None:
    script = (
        "import json, sys; from windlass.cli.launch import launch; launch(['--help']); "
        "print(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert [name for name in json.loads(ran.stderr) if name in HEAVY] == []


def test_the_front_page_names_every_command(windlass: Windlass) -> None:
    for words in ([], ["--help"], ["-h"], ["help"]):
        ended = windlass(*words)
        assert ended.code == 0
        assert [name for name in COMMANDS if f"  {name} " not in ended.out] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_lives_where_the_table_says(name: str) -> None:
    module, _, attribute = COMMANDS[name].path.partition(":")
    app = getattr(import_module(module), attribute)
    assert isinstance(app, App)
    assert app.name == (name,)
    assert app.help == COMMANDS[name].does
    assert name in build()


def test_each_noun_has_a_page_that_lists_its_verbs(windlass: Windlass) -> None:
    ended = windlass("job", "--help")
    assert ended.code == 0
    verbs = "submit ls get watch why cancel retry promote attempts events logs rm"
    for verb in verbs.split():
        assert f" {verb} " in ended.out
    assert windlass("help", "job").out == ended.out


def test_the_version_is_printed(windlass: Windlass) -> None:
    assert windlass("--version").out == f"windlass {__version__}\n"


def test_a_mistyped_command_is_a_usage_error_with_a_guess(windlass: Windlass) -> None:
    ended = windlass("jbo", "ls")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "error: there is no command 'jbo'; did you mean job?\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["job", "lsx"], 'Unknown command "lsx"'),
        (["job", "ls", "--nonsense"], "--nonsense"),
        (["job", "ls", "--limit", "many"], "--limit"),
        (["job", "ls", "--limit", "0"], "--limit must be 1 or more"),
        (["job", "ls", "--state", "asleep"], "asleep"),
        (["job", "ls", "-o", "xml"], "xml"),
        (["job", "get"], "JOB"),
        (["job", "get", ".."], "'..' is not a name"),
        (["job", "cancel"], "say which: ids, or a filter"),
        (["job", "ls", "--url", "5777"], "is not an address"),
        (["job", "ls", "--url", "http://[::1"], "is not an address"),
        (["job", "ls", "--token", "wlk_\n"], "--token may hold printable ASCII"),
        (["--token"], "--token needs a value"),
        (["--nonsense"], "there is no option '--nonsense'"),
        (["queue", "set", "mail"], "say which limit"),
        (["queue", "set", "mail", "--max-jobs", "few"], "--max-jobs must be a number"),
        (["dead", "replay"], "say which"),
        (["dead", "discard", "job_1", "--all"], "one of these"),
    ],
)
def test_a_usage_error_exits_with_2_and_says_what_is_wrong(
    windlass: Windlass, words: list[str], said: str
) -> None:
    ended = windlass(*words)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("error: ")
    assert said in ended.err
