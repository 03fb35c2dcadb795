"""The README's path, played: from its own words to a task, a signed webhook, cron and a durable
function. What is typed and what is pasted here is what stands there.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.docs.readers import NOT_RUN
from tests.house.repository import ROOT
from tests.ports import free_port

README: Final = (ROOT / "README.md").read_text()
BIN: Final = Path(sys.executable).parent
SECONDS_MAX: Final = 90.0
PLAYED: Final[set[str]] = set()  # lines of its shells


def programs() -> dict[str, str]:
    """The Python programs by the name in their first line."""
    found = re.findall(r"```python\n# (\w+\.py)\n(.*?)```", README, re.DOTALL)
    return dict(found)


def typed(start: str) -> str:
    """The one command that begins so, as a shell is to have it: nothing is set up here."""
    lines = [line for block in shells() for line in block.splitlines()]
    [line] = [line for line in lines if line.startswith(start)]
    PLAYED.add(line)
    return re.sub(r"\s{2,}# .*$", "", line)


def shells() -> list[str]:
    return re.findall(r"```sh\n(.*?)```", README, re.DOTALL)


class Newcomer:
    """Somebody in a folder of their own, with two terminals."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port, self.receiver = folder, free_port(), free_port()
        ours = {name: text for name, text in os.environ.items() if "WINDLASS" not in name}
        self.environ = {
            **ours,
            "XDG_STATE_HOME": str(folder / "state"),
            "WINDLASS_URL": f"http://127.0.0.1:{self.port}",
        }
        for name, text in programs().items():
            (folder / name).write_text(text)

    def _here(self, command: str) -> str:
        """Beside other tests: on ports of our own, by the interpreter that runs them."""
        command = command.replace(".venv/bin/", f"{BIN}/").replace("5780", str(self.receiver))
        return re.sub(
            r"make up(?: ARGS='(.*?)')?", rf"exec {BIN}/windlass up --port {self.port} \1", command
        )

    def run(self, command: str) -> str:
        ran = subprocess.run(
            ["bash", "-c", self._here(command)],
            cwd=self.folder,
            env=self.environ,
            capture_output=True,
            text=True,
            timeout=SECONDS_MAX,
            check=False,
        )
        assert ran.returncode == 0, f"{command}\n{ran.stdout}{ran.stderr}"
        return ran.stdout

    @contextmanager
    def started(self, command: str, until: str) -> Iterator[subprocess.Popen[str]]:
        """Something that runs until it is told to stop; inside it has said `until`."""
        with subprocess.Popen(
            ["bash", "-c", self._here(command)],
            cwd=self.folder,
            env=self.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as process:
            try:
                assert process.stdout is not None
                said = []
                for line in process.stdout:
                    said.append(line)
                    if line.startswith(until):
                        break
                assert said, command
                assert said[-1].startswith(until), "".join(said)
                yield process
            finally:
                process.send_signal(signal.SIGTERM)
                process.wait(SECONDS_MAX)


@pytest.mark.timeout(300)
def test_the_readme_leads_from_nothing_to_a_task_a_webhook_cron_and_a_durable_function(
    tmp_path: Path,
) -> None:
    newcomer = Newcomer(tmp_path)
    with newcomer.started(typed("make up  "), until="ready: "):
        newcomer.run(typed(".venv/bin/windlass job submit noop"))
    with newcomer.started(typed("make up ARGS='--app shop:app --reload'"), until="ready: "):
        assert newcomer.run(typed(".venv/bin/python shop.py")) == "sent 'hi' to a@b.c\n"
    with newcomer.started(typed("WINDLASS_EGRESS_ALLOW"), until="ready: "):
        name, _, value = (
            typed("export WINDLASS_LISTEN_SECRET").removeprefix("export ").partition("=")
        )
        newcomer.environ[name] = newcomer.run(f"echo {value}").strip()
        listen = f"{typed('.venv/bin/windlass listen')} --port {newcomer.receiver} -o jsonl"
        with newcomer.started(listen, until="listening: ") as receiver:
            newcomer.run(typed(".venv/bin/windlass job submit http"))
            assert receiver.stdout is not None
            told = json.loads(next(line for line in receiver.stdout if line.startswith("{")))
            assert told["signature"] == "verified", told
    with newcomer.started(typed("make up ARGS='--app shop:app --app more:app'"), until="ready: "):
        assert "08:00" in newcomer.run(typed(".venv/bin/windlass schedule next digest"))
        said = newcomer.run(typed(".venv/bin/python more.py"))
        assert said == "receipt of 42, confirmed by Ada\n"
    left = {line for block in shells() for line in block.splitlines()} - PLAYED
    excused = NOT_RUN["README.md"]
    assert len(left) == len(excused)
    assert all(line.startswith(tuple(excused)) for line in left), left


def test_every_program_of_the_readme_is_played_above() -> None:
    assert programs().keys() == {"shop.py", "more.py"}
    assert set(re.findall(r"```(\w*)\n.*?```", README, re.DOTALL)) == {"python", "sh"}
    assert len(re.findall(r"```python", README)) == 2
    shop = [line for line in programs()["shop.py"].splitlines() if line.strip()]
    assert len(shop) <= 12
