"""docs/coming-from-celery.md, followed word by word: its files are written, its Windlass is
started, and what its snippets print is what their comments say.
"""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.server import STOP_SECONDS, clean_environment
from tests.house.repository import ROOT
from tests.ports import free_port

TEXT = (ROOT / "docs" / "coming-from-celery.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
PYTHON = [text for language, text in BLOCKS if language == "python"]
FILES = {m[1]: text for text in PYTHON if (m := re.match(r"# (proj/\w+\.py)\n", text))}
SNIPPETS = [text for text in PYTHON if text not in FILES.values()]
COMMANDS = [
    line for language, text in BLOCKS if language == "sh" for line in text.splitlines() if line
]
STARTED = [line for line in COMMANDS if line.startswith("windlass up")]
NODES = [line for line in COMMANDS if line.startswith("windlass node")]
ASKED = [line for line in COMMANDS if line not in (*STARTED, *NODES)]
RUN_SECONDS_MAX = 90


def newcomers_environment(**more: str) -> dict[str, str]:
    """Celery imports Django's settings where the environment names some; tests of ours do."""
    found = clean_environment(**more)
    found.pop("DJANGO_SETTINGS_MODULE", None)
    return found


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return tmp_path


@contextmanager
def started(command: str, project: Path) -> Iterator[dict[str, str]]:
    """What it needs to be asked something, in its environment."""
    beside = ["--data", "data", "--port", str(free_port())]
    with (
        (project / "up.log").open("w") as log,
        subprocess.Popen(
            [sys.executable, "-m", *shlex.split(command), *beside],
            cwd=project,
            env=newcomers_environment(),
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as process,
    ):
        try:
            told: dict[str, str] = {}
            assert process.stdout is not None
            for line in process.stdout:
                word, _, rest = line.strip().partition(": ")
                told[word] = rest
                if word == "ready":
                    break
            assert "ready" in told, (project / "up.log").read_text()
            yield newcomers_environment(
                WINDLASS_URL=told["ready"], WINDLASS_TOKEN=told["admin key"]
            )
            process.send_signal(signal.SIGTERM)
            assert process.wait(STOP_SECONDS) == 0
        finally:
            process.kill()


def said(words: list[str], project: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(
        [sys.executable, *words],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        timeout=RUN_SECONDS_MAX,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def promised(snippet: str) -> list[str]:
    """What stands behind each print."""
    return re.findall(r"^print\(.*\)  # (.+)$", snippet, re.MULTILINE)


def test_the_page_has_what_is_followed_here() -> None:
    assert sorted(FILES) == ["proj/celery.py", "proj/cpu.py", "proj/moved.py", "proj/tasks.py"]
    assert (len(STARTED), len(NODES), len(ASKED), len(SNIPPETS)) == (2, 2, 3, 2)
    assert all(promised(snippet) for snippet in SNIPPETS)


def test_five_minutes_are_as_they_are_told(project: Path) -> None:
    with started(STARTED[0], project) as environment:
        told = said(["-c", SNIPPETS[0]], project, environment)
        assert told.splitlines() == promised(SNIPPETS[0])
        answers = [said(["-m", *shlex.split(line)], project, environment) for line in ASKED]
    assert "job_" in answers[0]
    assert all("add-hourly" in answer for answer in answers[1:])
    assert "made" in answers[2]


def test_a_cpu_bound_task_runs_in_a_process(project: Path) -> None:
    with started(STARTED[1], project) as environment:
        told = said(["-c", SNIPPETS[1]], project, environment)
    assert told.splitlines() == promised(SNIPPETS[1])


SOFT = """\
import time
from celery import Celery
from celery.exceptions import SoftTimeLimitExceeded
from windlass.sdk.bridges.celery import bridge

celery = Celery("soft", broker="memory://")


@celery.task(soft_time_limit=0.5)
def sleeps():
    try:
        time.sleep(60)
    except SoftTimeLimitExceeded:
        return "cleaned up"


windlass = bridge(celery, queues=None, isolate="process")
"""


def test_a_soft_time_limit_in_a_process_interrupts_what_blocks(project: Path) -> None:
    (project / "proj" / "soft.py").write_text(SOFT)
    asked = "from proj.soft import sleeps; print(sleeps.delay().get(timeout=50))"
    with started("windlass up --app proj.soft:windlass", project) as environment:
        assert said(["-c", asked], project, environment) == "cleaned up\n"


@pytest.mark.parametrize("line", NODES)
def test_a_node_knows_the_options_that_it_is_given(line: str, project: Path) -> None:
    helped = said(["-m", "windlass", "node", "--help"], project, newcomers_environment())
    assert all(word in helped for word in shlex.split(line) if word.startswith("--"))
