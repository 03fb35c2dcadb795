"""Completion: a script that a real shell takes, made without the parts of a server."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from shutil import which

import pytest

from tests.cli.conftest import Windlass
from windlass.cli.commands import COMMANDS
from windlass.model.identity.rights import ROLES
from windlass.model.job.states import STATES

BASH = which("bash") or "bash"
WRITE = """
import json, sys
from windlass.cli.launch import launch
launch(["completion", sys.argv[1]])
print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""
SERVER_PARTS = ("asyncpg", "starlette", "redis", "aiohttp", "windlass.engine", "windlass.runtime")
ASK = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
complete -p windlass >&2
_windlass
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("completion") / "windlass"
    ran = subprocess.run([sys.executable, "-c", WRITE, "bash"], capture_output=True, check=True)
    loaded = json.loads(ran.stderr)
    assert [name for name in SERVER_PARTS if name in loaded] == []
    path.write_bytes(ran.stdout)
    return path


def completed(script: Path, *words: str) -> list[str]:
    """What bash offers for the last of `words`."""
    ran = subprocess.run(
        [BASH, "--norc", "-c", ASK, "bash", str(script), *words],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": "/nowhere"},  # nothing is started to complete a word
    )
    assert ran.stderr.startswith("complete ")
    return ran.stdout.split()


def test_bash_completes_nouns_verbs_options_and_choices(script: Path) -> None:
    assert set(completed(script, "windlass", "")) >= set(COMMANDS)
    assert completed(script, "windlass", "exe") == ["execution"]
    assert completed(script, "windlass", "job", "wa") == ["watch"]
    assert {"ls", "get", "signal"} <= set(completed(script, "windlass", "execution", ""))
    assert completed(script, "windlass", "job", "ls", "--si") == ["--since"]
    assert set(completed(script, "windlass", "job", "ls", "--state", "")) == set(STATES)
    assert completed(script, "windlass", "--url", "http://x", "node", "dr") == ["drain"]
    assert completed(script, "windlass", "dead", "ls", "-o", "j") == ["json", "jsonl"]
    assert completed(script, "windlass", "user", "re") == ["reset-password"]
    assert set(completed(script, "windlass", "key", "add", "ci", "--role", "")) == set(ROLES)
    assert completed(script, "windlass", "completion", "") == ["bash", "zsh", "fish"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_scripts_for_other_shells_know_the_same_words(windlass: Windlass, shell: str) -> None:
    ended = windlass("completion", shell)
    assert (ended.code, ended.err) == (0, "")
    assert [word for word in (*COMMANDS, "watch", "since", "until") if word not in ended.out] == []
    begins = {"zsh": "#compdef windlass\n\n_windlass() {", "fish": "# Fish completion"}
    assert ended.out.startswith(begins[shell])


def test_its_page_says_how_to_keep_it(windlass: Windlass) -> None:
    page = " ".join(windlass("completion", "--help").out.split())
    for shell in ("bash", "zsh", "fish"):
        assert f"windlass completion {shell} >" in page
    assert windlass("completion", "tcsh").code == 2
