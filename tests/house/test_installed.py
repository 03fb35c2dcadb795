"""The wheel in a virtualenv of its own, as `pip install windlass` leaves it: only a client."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution
from pathlib import Path
from textwrap import dedent

import pytest

from tests.cli.server import clean_environment, running_server
from tests.house.repository import ROOT

pytestmark = pytest.mark.slow
# Markers are left out: what another system would need is not installed here.
REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^]]*\])?[^;]*(;.*)?")
SENTENCE = "needs the server's parts, which are not installed; pip install 'windlass[server]'\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    folder: Path

    def run(self, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """One of the virtualenv's programs, somewhere else than in this checkout."""
        return subprocess.run(
            [self.folder / "bin" / command[0], *command[1:]],
            cwd=self.folder,
            env=clean_environment(PYTHONPATH="", **environment),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def python(self, code: str) -> subprocess.CompletedProcess[str]:
        return self.run("python", "-c", code)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Client:
    """The wheel unpacked, beside copies of the libraries that it asks for, and of theirs."""
    folder = tmp_path_factory.mktemp("client")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel"]
    subprocess.run([*build, "--directory", folder], cwd=ROOT, check=True, capture_output=True)
    venv.create(folder / "venv", symlinks=True)
    [packages] = (folder / "venv" / "lib").glob("python*/site-packages")
    [wheel] = folder.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(packages)
    [about] = packages.glob("windlass-*.dist-info")
    wanted = [Distribution.at(about), distribution("pytest")]  # pytest: somebody tests an App
    for library in {**needed_by(wanted[0]), "pytest": wanted[1], **needed_by(wanted[1])}.values():
        copy(library, packages)
    command = folder / "venv" / "bin" / "windlass"
    command.write_text(
        f"#!{command.with_name('python')}\nfrom windlass.cli import main\n\nmain()\n"
    )
    command.chmod(0o755)
    return Client(folder=folder / "venv")


def needed_by(asking: Distribution) -> dict[str, Distribution]:
    found: dict[str, Distribution] = {}
    for line in asking.requires or ():
        asked = REQUIREMENT.fullmatch(line)
        assert asked is not None
        if asked[2] is None:
            found[asked[1]] = distribution(asked[1])
            found |= needed_by(found[asked[1]])
    return found


def copy(library: Distribution, packages: Path) -> None:
    for file in library.files or ():
        target = packages / file
        if ".." not in file.parts and file.suffix != ".pyc":
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(Path(str(file.locate())), target)


def test_everything_that_users_import_is_there_and_nothing_of_a_server(client: Client) -> None:
    code = """
        import importlib.util, sys, windlass, windlass.testing.plugin
        from windlass.extras import SERVER_MODULES
        assert [name for name in SERVER_MODULES if importlib.util.find_spec(name)] == []
        assert all(getattr(windlass, name) is not None for name in windlass.__all__)
        assert windlass.__file__.startswith(sys.prefix)
    """
    ran = client.python(dedent(code))
    assert (ran.returncode, ran.stderr) == (0, "")


def test_what_only_a_server_can_check_is_left_to_it(client: Client) -> None:
    code = """
        from typing import Annotated
        import msgspec, windlass
        app = windlass.App("shop")

        @app.cron("0 8 * * *", timezone="UTC", calendar={"countries": ["DE"]})
        @app.task
        def digest() -> None: ...

        @app.workflow("greet")
        def greet(name: Annotated[str, msgspec.Meta(pattern="^[a-z]+$")]):
            digest.step()

        print(sorted(app.schedules), greet.definition()["inputs"]["properties"]["name"]["pattern"])
    """
    ran = client.python(dedent(code))
    assert (ran.stdout, ran.stderr) == ("['digest'] ^[a-z]+$\n", "")


def test_its_command_line_calls_a_server_elsewhere(client: Client, tmp_path: Path) -> None:
    with running_server(tmp_path) as server:
        told = {"WINDLASS_URL": server.url, "WINDLASS_TOKEN": server.token}
        sent = client.run("windlass", "job", "submit", "noop", "--wait", "-o", "json", **told)
        assert (sent.returncode, json.loads(sent.stdout)["state"]) == (0, "succeeded"), sent.stderr
        listed = client.run("windlass", "job", "ls", "-o", "id", **told)
        assert listed.stdout.split() == [json.loads(sent.stdout)["id"]]
        (tmp_path / "flow.yaml").write_text("name: a\nsteps: [{id: b, kind: noop}]\n")
        applied = client.run("windlass", "workflow", "apply", str(tmp_path / "flow.yaml"), **told)
        assert applied.returncode == 0, applied.stderr
    front = client.run("windlass", "--help")
    assert front.returncode == 0
    assert "windlass up" in front.stdout
    assert client.run("windlass", "config", "show").returncode == 0


@pytest.mark.parametrize(
    "words",
    [
        "up",
        "node",
        "node --workers 2",
        "doctor",
        "migrate status --database-url postgresql://localhost/x",
        "sweep --redis-url redis://localhost",
        "secret reencrypt",
        "listen",
    ],
)
def test_a_verb_of_a_server_says_in_one_line_what_to_install(client: Client, words: str) -> None:
    ran = client.run("windlass", *words.split())
    verb = re.sub(r" --.*", "", words)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == f"error: 'windlass {verb}' {SENTENCE}"


def test_a_node_in_a_program_says_so_too(client: Client) -> None:
    code = """
        import asyncio, windlass
        from windlass.sdk.bridges.asgi import lifespan

        async def live() -> None:
            async with lifespan(windlass.App("shop"))(None): ...

        asyncio.run(live())
    """
    ran = client.python(dedent(code))
    assert ran.stderr.endswith(SENTENCE)
    assert "ServerNotInstalled: a node in this program" in ran.stderr


def test_a_test_that_wants_a_node_is_told_in_one_sentence(client: Client) -> None:
    (client.folder / "test_shop.py").write_text("def test_it(windlass_local): ...\n")
    ran = client.run("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_shop.py")
    assert f"the fixture windlass_local {SENTENCE}" in ran.stdout
    assert "Traceback" not in ran.stdout + ran.stderr
    ran = client.python("import windlass.testing.servers")
    assert ran.stderr.endswith(f"windlass.testing.servers {SENTENCE}")
