"""Starting at a terminal: what is said, the key that is found, new code, and the end."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from tests.cli.server import STOP_SECONDS, clean_environment
from tests.ports import free_port
from tests.until import until
from windlass.clock import monotonic

PATIENCE_SECONDS = 60.0
SHOP = """
import os, time, windlass

app = windlass.App("shop")

@app.task
def version() -> int:
    return 1

@app.task
def hold(path: str) -> None:
    open(path, "w").close()
    while os.path.exists(path):
        time.sleep(0.02)
"""
TWO_NODES = ("--nodes", "2", "--workers", "5")
MAIL = """
import windlass

app = windlass.App("mail")

@app.task
def send() -> str:
    return "sent"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Up:
    process: subprocess.Popen[bytes]
    folder: Path
    url: str
    environ: dict[str, str]

    @property
    def said(self) -> str:
        return (self.folder / "out").read_text()

    @property
    def log(self) -> str:
        return (self.folder / "err").read_text()

    async def says(self, text: str, times: int = 1) -> None:
        def is_said() -> bool:
            assert self.process.poll() is None or self.said.count(text) >= times, self.log
            return self.said.count(text) >= times

        try:
            await until(is_said, what=f"it says {text!r}", within_seconds=PATIENCE_SECONDS)
        except AssertionError:
            print(self.said, self.log, sep="\n---\n")
            raise

    def windlass(self, *words: str) -> subprocess.CompletedProcess[str]:
        """A command in another terminal: another folder, no key in the environment."""
        return windlass(*words, cwd=Path("/"), WINDLASS_URL=self.url)

    def result_of(self, task: str) -> object:
        body = json.dumps({"task": task})
        done = self.windlass("job", "submit", "python", "--input", body, "--wait", "-o", "json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["result"]

    def slots(self) -> list[int]:
        listed = self.windlass("node", "ls", "-o", "json")
        return [node["workers"] for node in json.loads(listed.stdout)["data"]]

    def stop(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(STOP_SECONDS)


def windlass(
    *words: str, cwd: Path, environ: dict[str, str] | None = None, **added: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "windlass", *words],
        cwd=cwd,
        env=clean_environment(**added) if environ is None else {**environ, **added},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )


def python(program: str, **added: str) -> str:
    """What it prints, in a process of its own that stands elsewhere."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd="/",
        env=clean_environment(**added),
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=True,
    )
    return done.stdout


@contextmanager
def at_terminal(folder: Path, **added: str) -> Iterator[int]:
    """`windlass up` on a terminal, whose other end this is."""
    master, slave = pty.openpty()
    os.set_blocking(master, False)
    with subprocess.Popen(
        [sys.executable, "-m", "windlass", "up", "--port", str(free_port())],
        cwd=folder,
        env=clean_environment(**added),
        stdout=slave,
        stderr=subprocess.DEVNULL,
    ) as process:
        os.close(slave)
        try:
            yield master
        finally:
            process.terminate()
            process.wait(STOP_SECONDS)
            os.close(master)


@contextmanager
def up(folder: Path, *flags: str, environ: dict[str, str] | None = None) -> Iterator[Up]:
    port = free_port()
    own = clean_environment() if environ is None else environ
    command = [sys.executable, "-m", "windlass", "up", "--port", str(port), *flags]
    with (
        (folder / "out").open("wb") as out,
        (folder / "err").open("wb") as err,
        subprocess.Popen(command, cwd=folder, env=own, stdout=out, stderr=err) as process,
    ):
        try:
            url = f"http://127.0.0.1:{port}"
            yield Up(process=process, folder=folder, url=url, environ=own)
        finally:
            process.terminate()
            try:
                process.wait(STOP_SECONDS)
            finally:
                process.kill()


def with_apps(folder: Path) -> Path:
    (folder / "shop.py").write_text(SHOP)
    (folder / "mail.py").write_text(MAIL)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the others start, one after the other: there is data, which has had its first start."""
    made = with_apps(tmp_path_factory.mktemp("start"))
    with up(made) as server:
        deadline = monotonic() + PATIENCE_SECONDS
        while "\nready: " not in server.said:
            assert monotonic() < deadline, server.log
            time.sleep(0.05)
    return made


async def test_a_first_start_says_all_that_one_needs_and_ready_last(tmp_path: Path) -> None:
    folder = with_apps(tmp_path)
    with up(folder, "--app", "shop:app", "--app", "mail:app", *TWO_NODES) as server:
        await server.says("\nready: ")
        lines = server.said.splitlines()
        assert lines[0] == "starting: PostgreSQL and Valkey in .windlass …"
        assert lines[-1] == f"ready: {server.url}"
        assert max(map(len, lines)) <= 80
        shown = {line[2:13].strip(): line[13:] for line in lines if re.match(r"  \w+ ", line)}
        assert shown["app"] in ("shop (shop:app)", "mail (mail:app)")
        assert shown["tasks"] == "3: hold, send, version"
        assert shown["slots"] == "5 in each of 2 nodes"
        assert shown["data"].startswith(".windlass ")
        assert shown["key"].startswith(".windlass/admin.key ")
        assert shown["off"].startswith("webhooks to this machine: WINDLASS_EGRESS_ALLOW=")
        [key] = re.findall(r"^admin key: (wlk_\S+)$", server.said, re.MULTILINE)
        kept = folder / ".windlass/admin.key"
        assert kept.read_text().strip() == key
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600
        assert "\x1b" not in server.said
        # Both Apps, and what `up` was told reaches the further node.
        assert (server.result_of("version"), server.result_of("send")) == (1, "sent")
        await until(lambda: server.slots() == [5, 5], what="both nodes have five slots")
        assert server.stop() == 0
        assert server.said.endswith("\nstopped; data is kept in .windlass\n")


async def test_a_key_is_found_by_commands_and_programs_and_can_be_made_anew(folder: Path) -> None:
    kept = folder / ".windlass/admin.key"
    assert windlass("key", "reset", cwd=folder).returncode == 0
    with up(folder, environ=clean_environment(WINDLASS_LOG_FORMAT="json")) as server:
        await server.says("\nready: ")
        assert "admin key" not in server.said
        # One object a line: what people read is elsewhere.
        assert all(isinstance(json.loads(line), dict) for line in server.log.splitlines())
        listed = server.windlass("job", "ls", "-o", "id")
        assert listed.returncode == 0, listed.stderr
        program = "import windlass; print(windlass.Client().jobs.submit('noop')['state'])"
        assert python(program, WINDLASS_URL=server.url).strip()

        old = kept.read_text().strip()
        assert server.windlass("job", "ls", "--token", old).returncode == 0  # it is cached now
        reset = windlass("key", "reset", cwd=folder)
        assert reset.returncode == 0, reset.stderr
        assert reset.stdout == f"admin key: {kept.read_text().strip()}\n"
        assert "the old key opens nothing any more" in reset.stderr
        refused = server.windlass("job", "ls", "--token", old)
        assert (refused.returncode, "was revoked" in refused.stderr) == (4, True)
        assert server.windlass("job", "ls").returncode == 0

        kept.chmod(0o644)
        refused = server.windlass("job", "ls")
        assert (refused.returncode, f"chmod 600 {kept}" in refused.stderr) == (4, True)
        kept.unlink()
        refused = server.windlass("job", "ls")
        assert (refused.returncode, "windlass key reset" in refused.stderr) == (4, True)
        assert server.stop() == 0


async def test_data_without_a_key_file_is_told_how_to_get_one(folder: Path) -> None:
    (folder / ".windlass/admin.key").unlink(missing_ok=True)
    with up(folder) as server:
        await server.says("\nready: ")
        assert "a new one: windlass key reset" in " ".join(server.said.split())
    reset = windlass("key", "reset", "--data", ".windlass", cwd=folder)  # nobody serves it
    assert (reset.returncode, (folder / ".windlass/admin.key").exists()) == (0, True)


async def test_new_code_is_taken_and_broken_code_is_waited_for(folder: Path) -> None:
    holding = folder / "holding"
    with up(folder, "--app", "shop:app", "--reload") as server:
        await server.says("\nready: ")
        assert server.result_of("version") == 1
        held = json.dumps({"task": "hold", "args": [str(holding)]})
        job = server.windlass("job", "submit", "python", "--input", held, "-o", "id").stdout.strip()
        await until(holding.exists, what="the job runs")
        (folder / "shop.py").write_text(SHOP.replace("return 1", "return 22"))
        await server.says("reloading: shop.py has changed, waiting up to 30 s for 1 running job")
        holding.unlink()
        await server.says("reloaded: 2 tasks")
        assert server.result_of("version") == 22
        shown = json.loads(server.windlass("job", "get", job, "-o", "json").stdout)
        assert (shown["state"], shown["attempt"]) == ("succeeded", 1)

        (folder / "shop.py").write_text(SHOP + "def broken(:\n")
        line = SHOP.count("\n") + 1
        await server.says(f"SyntaxError: invalid syntax (shop.py, line {line})\n")
        assert server.process.poll() is None
        (folder / "shop.py").write_text(SHOP)
        await server.says("reloaded: 2 tasks", times=2)
        assert server.result_of("version") == 1
        assert server.stop() == 0
        assert server.said.endswith("\nstopped; data is kept in .windlass\n")


async def test_what_dies_is_begun_again_and_told(folder: Path) -> None:
    with up(folder) as server:
        await server.says("\nready: ")
        for name, program in (("PostgreSQL", "postgres"), ("Valkey", "valkey-server")):
            [child] = [
                child
                for child in psutil.Process(server.process.pid).children()
                if child.name() == program
            ]
            child.kill()
            await server.says(f"{name} ended with code -9; it is started again\n")
            await server.says(f"{name} runs again\n")


async def test_a_stop_says_what_it_waits_for_and_a_second_does_not_wait(tmp_path: Path) -> None:
    """In a folder of its own: what is cut off runs again at the next start."""
    folder = with_apps(tmp_path)
    holding = folder / "holding"
    with up(folder, "--app", "shop:app") as server:
        await server.says("\nready: ")
        held = json.dumps({"task": "hold", "args": [str(holding)]})
        submitted = server.windlass("job", "submit", "python", "--input", held)
        assert submitted.returncode == 0, submitted.stderr
        await until(holding.exists, what="the job runs")
        server.process.send_signal(signal.SIGINT)
        await server.says(
            "stopping: waiting up to 30 s for 1 running job; Ctrl-C again stops at once\n"
        )
        assert server.stop() == 0
        holding.unlink()


async def test_at_a_terminal_there_are_colours_unless_they_are_not_wanted(folder: Path) -> None:
    for added, is_coloured in (({"TERM": "xterm"}, True), ({"NO_COLOR": "1"}, False)):
        said = bytearray()
        with at_terminal(folder, **added) as master:

            def is_ready(master: int = master, said: bytearray = said) -> bool:
                with suppress(BlockingIOError):
                    said += os.read(master, 65_536)
                return b"\nready: http" in said

            await until(is_ready, what="it is ready")
        assert (b"\x1b[" in said) is is_coloured


async def test_a_locale_that_knows_ascii_alone_will_do(folder: Path) -> None:
    bare = {"PATH": os.environ["PATH"], "LC_ALL": "C", "PYTHONUTF8": "0"}
    bare |= {"PYTHONCOERCECLOCALE": "0", "XDG_STATE_HOME": os.environ["XDG_STATE_HOME"]}
    with up(folder, environ=bare) as server:
        await server.says("\nready: ")
        assert server.said.startswith("starting: PostgreSQL and Valkey in .windlass ...\n")
        assert server.said.isascii()
        done = windlass("health", "--url", server.url, cwd=folder, environ=bare)
        assert done.returncode == 0, done.stderr
        # Who is there is said to a second one.
        port = server.url.rpartition(":")[2]
        busy = windlass("up", "--port", port, "--data", "other", cwd=folder, environ=bare)
        assert (busy.returncode, "another Windlass answers there" in busy.stderr) == (1, True)
        assert busy.stderr.count("\n") == 1
        assert server.stop() == 0


@pytest.mark.parametrize(
    ("flags", "code", "said"),
    [
        (["--app", "shp:app"], 1, "did you mean --app shop:app?"),
        (["--app", "shop:app", "--app", "shop:nothing"], 1, "shop has no attribute 'nothing'"),
        (["--app", "raises:app"], 1, "ZeroDivisionError: division by zero (raises.py, line 1)"),
        (["--app", "shop:app,two:app"], 1, "both have a task 'version'"),
        (["--reload"], 2, "--reload watches the files of your App: say which with --app"),
        (["--data", "shop.py/data"], 1, "cannot be made (Not a directory)"),
    ],
)
def test_bad_input_is_one_sentence(folder: Path, flags: list[str], code: int, said: str) -> None:
    (folder / "raises.py").write_text("1 / 0\n")
    (folder / "two.py").write_text(SHOP.replace('"shop"', '"two"'))
    done = windlass("up", "--port", str(free_port()), *flags, cwd=folder)
    assert (done.returncode, said in done.stderr) == (code, True), done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith("error: ")
