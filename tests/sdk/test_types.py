"""The public surface as type checkers see it, in a project of a user's own."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Found = list[tuple[str, int, str]]  # file, line, what is wrong there

PROJECT = Path(__file__).parent / "typing"
ROOT = Path(__file__).parents[2]
# Each line that says so must be refused, and no other.
MISTAKES = """
import windlass
from tests.sdk.typing.flows import keep_going
from tests.sdk.typing.tasks import charge, send_mail

send_mail.enqueue(5)  # mistake: not a text
send_mail.enqueue("a", subjekt="b")  # mistake: no such parameter
charge.enqueue()  # mistake: nothing given
keep_going.start("order")  # mistake: not an order
send_mail.using(run_afte=5)  # mistake: no such option
send_mail.using(priority="urgent")  # mistake: no such priority
number: int = send_mail.enqueue("a").result()  # mistake: it gives text
wrong: windlass.Handle[int] = send_mail.enqueue("a")  # mistake: of text
windlass.Retry("often")  # mistake: not a number
windlass.no_such_name  # mistake: not exported
windlass.Client().jobs.get("job_1").stat  # mistake: no such field
fine: str = send_mail.enqueue("a").result()


async def late() -> None:
    text: str = send_mail("a")  # mistake: to be awaited
    counted: int = await keep_going.astart(windlass.current())  # mistake: no order, no number
"""


def with_mypy(project: Path, kept: Path) -> Found:
    told = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            "--strict",
            "--explicit-package-bases",
            "--cache-dir",
            str(kept),
            ".",
        ],
        cwd=project,
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert told.returncode in (0, 1), told.stdout + told.stderr
    shape = re.compile(r"(\S+?):(\d+): error: (.*)")
    found = [shape.fullmatch(line) for line in told.stdout.splitlines()]
    return [(match[1], int(match[2]), match[3]) for match in found if match]


def with_pyright(project: Path, _kept: Path) -> Found:
    settings = {"typeCheckingMode": "standard", "pythonVersion": "3.11", "include": ["."]}
    (project / "pyrightconfig.json").write_text(json.dumps(settings))
    told = subprocess.run(
        [sys.executable, "-m", "basedpyright", "--outputjson", "--pythonpath", sys.executable],
        cwd=project,
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert told.returncode in (0, 1), told.stdout + told.stderr
    return [
        (Path(one["file"]).name, one["range"]["start"]["line"] + 1, one["message"])
        for one in json.loads(told.stdout)["generalDiagnostics"]
        if one["severity"] == "error"
    ]


def shown_programs() -> list[tuple[str, str]]:
    """The first program of each document that shows one."""
    found = []
    for page in ("README.md", "docs/tasks.md", "docs/durable.md"):
        blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
        program = next(block for block in blocks if "windlass.App(" in block)
        found.append((f"shown_{Path(page).stem.lower()}.py", program))
    return found


@pytest.mark.parametrize("check", [with_mypy, with_pyright])
def test_a_users_project_is_checked_and_its_mistakes_are_found(
    tmp_path: Path, pytestconfig: pytest.Config, check: Callable[[Path, Path], Found]
) -> None:
    assert pytestconfig.cache is not None
    # What it knows of the libraries: the first run takes long, and those after it do not.
    kept = pytestconfig.cache.mkdir("types")
    project = tmp_path / "project"
    shutil.copytree(
        PROJECT, project / "tests/sdk/typing", ignore=shutil.ignore_patterns("__pycache__")
    )
    for name, shown in shown_programs():
        (project / name).write_text(shown)
    (project / "mistakes.py").write_text(MISTAKES)
    wanted = {n for n, line in enumerate(MISTAKES.splitlines(), 1) if "# mistake" in line}
    found = check(project, kept)
    assert [one for one in found if one[0] != "mistakes.py"] == []
    assert {line for _, line, _ in found} == wanted, found
