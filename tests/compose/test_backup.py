"""`windlass backup` and `windlass restore`: of a folder, by whoever runs and whatever breaks."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import resource
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import asyncpg
import psutil
import pytest

from tests.cli.server import STOP_SECONDS, clean_environment
from tests.ports import free_port
from tests.until import until
from windlass.clock import monotonic
from windlass.compose.backup.archive import examine
from windlass.compose.backup.restore import Examine, NoRoom, restore_into_folder
from windlass.embedded.postgres import EmbeddedPostgres
from windlass.embedded.servers import UNFINISHED

PATIENCE_SECONDS: Final = 90.0
Limit = Callable[[], None] | None
# A node that is killed is known to be gone after three seconds.
QUICK: Final = {"WINDLASS_LEASE_SECONDS": "3", "WINDLASS_HEARTBEAT_SECONDS": "0.9"}
SHOP: Final = """
import os, time, windlass

app = windlass.App("shop")

@app.task
def hold(path: str) -> str:
    with open(path, "a") as file:
        file.write("begun\\n")
    while not os.path.exists(path + ".go"):
        time.sleep(0.02)
    return "done"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    code: int
    out: str
    err: str


class Desk:
    """A folder to work in, and the command line in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environ = clean_environment(XDG_STATE_HOME=str(folder / "state"), **QUICK)

    def begin(self, *words: str, **added: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "windlass", *words],
            cwd=self.folder,
            env={**self.environ, **added},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *words: str, **added: str) -> Ended:
        return self.run_within(None, *words, **added)

    def run_within(self, limit: Limit, *words: str, **added: str) -> Ended:
        done = subprocess.run(
            [sys.executable, "-m", "windlass", *words],
            cwd=self.folder,
            env={**self.environ, **added},
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
            preexec_fn=limit,
        )
        return Ended(code=done.returncode, out=done.stdout, err=done.stderr)

    def good(self, *words: str, **added: str) -> str:
        done = self.run(*words, **added)
        assert done.code == 0, done.err + done.out
        return done.out

    @contextmanager
    def up(self, data: str, *words: str) -> Iterator[dict[str, str]]:
        """The variables by which commands reach it."""
        url = f"http://127.0.0.1:{free_port()}"
        port = url.rpartition(":")[2]
        with (self.folder / "up.log").open("w") as log:
            running = subprocess.Popen(
                [sys.executable, "-m", "windlass", "up", "--port", port, "--data", data, *words],
                cwd=self.folder,
                env=self.environ,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        with running:
            try:
                assert running.stdout is not None
                said = list(iter(running.stdout.readline, f"ready: {url}\n"))
                assert running.poll() is None, (self.folder / "up.log").read_text() + str(said)
                yield {
                    "WINDLASS_URL": url,
                    "WINDLASS_TOKEN": (self.folder / data / "admin.key").read_text().strip(),
                }
                running.send_signal(signal.SIGTERM)
                assert running.wait(STOP_SECONDS) == 0
            finally:
                running.kill()


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    yield Desk(tmp_path)
    # The kernel tells a server whose owner was killed; it writes a last checkpoint then.
    seen(lambda: not postgres_below(tmp_path), "no process is left")
    shutil.rmtree(tmp_path)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """A stopped folder `data` with two jobs that wait and one that has ended, and its backup."""
    folder = tmp_path_factory.mktemp("model")
    desk = Desk(folder)
    with desk.up("data") as server:
        desk.good("job", "submit", "noop", "--wait", **server)
        desk.good("job", "submit", "noop", "--delay", "30d", "--key", "first", **server)
        desk.good("job", "submit", "noop", "--delay", "30d", **server)
    desk.good("backup", "good.dump", "--data", "data")
    yield desk
    shutil.rmtree(folder)


@pytest.fixture
def dump(desk: Desk, model: Desk) -> Path:
    """That backup, on the desk of a test."""
    shutil.copy(model.folder / "good.dump", desk.folder / "good.dump")
    return desk.folder / "good.dump"


def postgres_below(folder: Path) -> list[int]:
    """Servers and client programs that have to do with anything in here."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            if process.status() == psutil.STATUS_ZOMBIE:
                continue
            words = " ".join(process.cmdline())
            if process.name() in ("postgres", "pg_dump", "pg_restore", "psql") and (
                str(folder) in words or process.cwd().startswith(str(folder))
            ):
                found.append(process.pid)
    return found


def seen(is_so: Callable[[], object], what: str) -> None:
    deadline = monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert monotonic() < deadline, what
        time.sleep(0.01)


def jobs_in(desk: Desk, data: str) -> str:
    return desk.good("doctor", "--data", data)


# -- there and back ------------------------------------------------------------------------------


def test_a_job_accepted_before_a_backup_is_there_after_the_restore_and_ends_once(
    desk: Desk,
) -> None:
    (desk.folder / "shop.py").write_text(SHOP)
    ran, app = desk.folder / "ran", ("--app", "shop:app")
    with desk.up("data", *app) as server:
        ended = json.loads(desk.good("job", "submit", "noop", "--wait", "-o", "json", **server))
        waits = json.loads(
            desk.good("job", "submit", "noop", "--delay", "30d", "-o", "json", **server)
        )
        runs = json.loads(
            desk.good(
                *("job", "submit", "python", "-o", "json", "--input"),
                json.dumps({"task": "hold", "args": [str(ran)]}),
                **server,
            )
        )
        seen(ran.exists, "the task runs")
        told = desk.good("backup", "w.dump", "--data", "data")
        assert "3 jobs (2 unfinished, 1 of them running)" in told
        assert "data/secret.key" in told
        after = json.loads(desk.good("job", "submit", "noop", "-o", "json", **server))
        (desk.folder / "ran.go").touch()
        seen(
            lambda: '"succeeded"' in desk.good("job", "get", runs["id"], "-o", "json", **server),
            "the first run ends",
        )
    (desk.folder / "ran.go").unlink()

    told = desk.good("restore", "w.dump", "--data", "restored")
    assert "all is well" in told
    assert "the job that ran at that time will be taken back and run again" in told
    [copying] = re.findall(r"install -m 600 OLD/.*", told)
    subprocess.run(
        shlex.split(copying.replace("OLD", "data")), cwd=desk.folder, check=True, timeout=10
    )
    with desk.up("restored", *app) as server:
        seen(lambda: ran.read_text().count("begun") == 2, "what ran is run again")
        (desk.folder / "ran.go").touch()
        seen(
            lambda: '"succeeded"' in desk.good("job", "get", runs["id"], "-o", "json", **server),
            "it ends",
        )
        desk.good("job", "promote", waits["id"], **server)
        seen(
            lambda: '"succeeded"' in desk.good("job", "get", waits["id"], "-o", "json", **server),
            "what waited ends",
        )
        for job, attempts in ((ended, 1), (waits, 1), (runs, 2)):
            found = json.loads(desk.good("job", "get", job["id"], "-o", "json", **server))
            assert (found["state"], found["attempt"]) == ("succeeded", attempts)
        assert desk.run("job", "get", after["id"], **server).code == 3, "it came after the backup"
    assert "all is well" in jobs_in(desk, "restored")
    assert ran.read_text().count("begun") == 2


def test_a_backup_of_a_stopped_folder_starts_postgresql_alone_and_stops_it(model: Desk) -> None:
    told = model.good("backup", "again.dump", "--data", "data")
    assert "3 jobs (2 unfinished)" in told
    assert "schema   00" in told
    assert stat.S_IMODE((model.folder / "again.dump").stat().st_mode) == 0o600
    assert postgres_below(model.folder) == []
    assert not list((model.folder / "data/valkey").glob("*.sock"))
    assert not (model.folder / "again.dump.part").exists()


def test_the_admin_key_of_a_restored_folder_opens_it_and_the_old_one_too(
    desk: Desk, dump: Path, model: Desk
) -> None:
    desk.good("restore", str(dump), "--data", "restored")
    with desk.up("restored") as server:
        old = (model.folder / "data/admin.key").read_text().strip()
        assert old != server["WINDLASS_TOKEN"]
        for key in (old, server["WINDLASS_TOKEN"]):
            listed = desk.good("job", "ls", "-o", "id", **{**server, "WINDLASS_TOKEN": key})
            assert len(listed.split()) == 3


def test_a_drill_proves_a_backup_and_leaves_nothing(desk: Desk, dump: Path, model: Desk) -> None:
    (desk.folder / "tmp").mkdir()
    (desk.folder / "tmp").chmod(0o711)
    key = f"file:{model.folder / 'data/secret.key'}"
    told = desk.good("restore", str(dump), "--drill", "--data", "tmp", WINDLASS_SECRET_KEY=key)
    assert "good.dump can be restored" in told
    assert "3 jobs (2 unfinished)" in told
    assert "all is well" in told
    assert "1 secret; WINDLASS_SECRET_KEY opens it" in told
    assert list((desk.folder / "tmp").iterdir()) == []
    other = "ab" * 32
    told = desk.good("restore", str(dump), "--drill", WINDLASS_SECRET_KEY=other)
    assert "which was not tried" in told


def test_a_drill_of_a_database_that_is_not_well_says_so_and_fails(desk: Desk, dump: Path) -> None:
    desk.good("restore", str(dump), "--data", "restored")

    async def spoil() -> None:
        postgres = EmbeddedPostgres(desk.folder / "restored")
        await postgres.start()
        try:
            connection = await asyncpg.connect(postgres.url())
            await connection.execute(
                "INSERT INTO windlass.counter_delta (queue, queued) VALUES ('default', 7)"
            )
            await connection.close()
        finally:
            await postgres.stop()

    asyncio.run(spoil())
    desk.good("backup", "bad.dump", "--data", "restored")
    drill = desk.run("restore", "bad.dump", "--drill")
    assert drill.code == 1
    assert "findings, the first: counter" in drill.out


# -- what is there is not written over -----------------------------------------------------------


def test_a_file_that_is_there_is_replaced_only_when_told_to(desk: Desk, model: Desk) -> None:
    file = desk.folder / "there"
    file.write_text("mine")
    refused = model.run("backup", str(file), "--data", "data")
    assert (refused.code, "--force" in refused.err) == (5, True)
    assert file.read_text() == "mine"
    model.good("backup", str(file), "--data", "data", "--force")
    assert file.read_bytes()[:5] == b"PGDMP"
    folder = model.run("backup", str(desk.folder), "--data", "data", "--force")
    assert (folder.code, "no regular file" in folder.err) == (1, True)


def test_a_folder_with_data_is_refused_and_left_as_it_is(desk: Desk, dump: Path) -> None:
    (desk.folder / "full").mkdir()
    (desk.folder / "full/mine").touch()
    refused = desk.run("restore", str(dump), "--data", "full")
    assert (refused.code, "full is not empty (mine)" in refused.err) == (5, True)
    assert [path.name for path in (desk.folder / "full").iterdir()] == ["mine"]


def test_a_folder_that_is_served_is_refused_by_the_process_that_serves_it(
    desk: Desk, dump: Path
) -> None:
    with desk.up("data"):
        refused = desk.run("restore", str(dump), "--data", "data")
    assert refused.code == 5
    assert re.search(r"data is in use by process \d+; stop it first", refused.err)


def test_a_folder_with_nothing_but_the_right_secret_key_is_filled(
    desk: Desk, dump: Path, model: Desk
) -> None:
    (desk.folder / "new").mkdir(0o711)
    shutil.copy(model.folder / "data/secret.key", desk.folder / "new/secret.key")
    told = desk.good("restore", str(dump), "--data", "new", "--skip-doctor")
    assert "1 secret; " in told
    assert "new/secret.key opens it" in told
    assert "install" not in told
    assert "was not asked" in told


def test_where_to_has_to_be_said(desk: Desk, dump: Path) -> None:
    for words in (
        (),
        ("--drill", "--database-url", "postgresql://x/y"),
        ("--drill", "--skip-doctor"),
    ):
        assert desk.run("restore", str(dump), *words).code == 2


# -- files that are no whole backup --------------------------------------------------------------


def test_a_damaged_or_cut_file_is_refused_before_anything_is_made(desk: Desk, dump: Path) -> None:
    whole = dump.read_bytes()
    half, tail = len(whole) // 2, len(whole) - 60
    for name, content, said in [
        ("empty", b"", "is empty"),
        ("flipped", whole[:half] + bytes([whole[half] ^ 1]) + whole[half + 1 :], "is damaged"),
        ("cut", whole[:half], "is cut off or damaged"),
        ("cut-late", whole[:tail], "good"),
        ("head", whole[:20], "is cut off"),
        ("sql", b"--\n-- PostgreSQL database dump\n--\n", "in plain SQL"),
        ("gzip", b"\x1f\x8b\x08rest", "compressed by gzip"),
        ("other", b"hello, world", "is no backup of Windlass"),
    ]:
        (desk.folder / name).write_bytes(content)
        refused = desk.run("restore", name, "--data", "new")
        if said == "good":  # the dump itself is whole: it is as good as one by pg_dump
            assert refused.code == 0, refused.err
            shutil.rmtree(desk.folder / "new")
            continue
        assert (refused.code, said in refused.err) == (1, True), (name, refused.err)
        assert not (desk.folder / "new").exists()
    missing = desk.run("restore", "nowhere", "--data", "new")
    assert (missing.code, "No such file" in missing.err) == (1, True)


def test_a_backup_of_a_newer_windlass_is_refused(desk: Desk, model: Desk) -> None:
    """As one that was written by a later release would be."""
    _change(model, "INSERT INTO windlass.migration VALUES (9000, '9000_later', repeat('a', 64))")
    try:
        model.good("backup", str(desk.folder / "later.dump"), "--data", "data")
    finally:
        _change(model, "DELETE FROM windlass.migration WHERE number = 9000")
    refused = desk.run("restore", "later.dump", "--data", "new")
    assert refused.code == 1
    assert "newer Windlass (migration 9000_later is not known here)" in refused.err
    assert not (desk.folder / "new").exists()


def _change(desk: Desk, statement: str) -> None:
    async def change() -> None:
        postgres = EmbeddedPostgres(desk.folder / "data")
        await postgres.start()
        try:
            connection = await asyncpg.connect(postgres.url())
            await connection.execute(statement)
            await connection.close()
        finally:
            await postgres.stop()

    asyncio.run(change())


# -- interrupted, and out of room ----------------------------------------------------------------


@asynccontextmanager
async def stuck(desk: Desk, file: str) -> AsyncIterator[tuple[subprocess.Popen[str], int]]:
    """A backup whose pg_dump waits for a table that counting does not touch; with its number."""
    with desk.up("data"):
        connection = await asyncpg.connect(EmbeddedPostgres(desk.folder / "data").url())
        await connection.execute("BEGIN; LOCK TABLE ONLY windlass.event")
        with desk.begin("backup", file, "--data", "data") as process:
            try:
                yield process, await until(lambda: _dumping(process), what="pg_dump is at work")
            finally:
                process.kill()
                await connection.close()


def _dumping(process: subprocess.Popen[str]) -> int | None:
    assert process.poll() is None, process.communicate()
    children = psutil.Process(process.pid).children()
    return next((child.pid for child in children if child.name() == "pg_dump"), None)


async def test_a_backup_that_is_killed_leaves_no_file_and_no_process_and_is_taken_again(
    desk: Desk,
) -> None:
    async with stuck(desk, "w.dump") as (backup, dumping):
        argv = " ".join(psutil.Process(dumping).cmdline())
        password = (desk.folder / "data/passwords/postgresql").read_text().strip()
        assert password not in argv
        at_once = await asyncio.to_thread(desk.run, "backup", "w.dump", "--data", "data")
        assert (at_once.code, "being written by another backup" in at_once.err) == (5, True)
        backup.kill()
        backup.communicate()
        await until(lambda: not psutil.pid_exists(dumping), what="pg_dump is gone")
        assert not (desk.folder / "w.dump").exists()
    desk.good("backup", "w.dump", "--data", "data")
    assert sorted(path.name for path in desk.folder.glob("w.dump*")) == ["w.dump"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_ends_a_backup_in_good_order(desk: Desk, number: signal.Signals) -> None:
    async with stuck(desk, "w.dump") as (backup, dumping):
        backup.send_signal(number)
        out, err = backup.communicate(timeout=PATIENCE_SECONDS)
        assert (backup.returncode, out) == (130, "")
        assert err == "error: interrupted; nothing was written\n"
        assert not psutil.pid_exists(dumping)
        assert list(desk.folder.glob("w.dump*")) == []


async def test_a_pg_dump_that_is_killed_fails_the_backup(desk: Desk) -> None:
    async with stuck(desk, "w.dump") as (backup, dumping):
        os.kill(dumping, signal.SIGKILL)
        _, err = backup.communicate(timeout=PATIENCE_SECONDS)
        assert (backup.returncode, "pg_dump was ended by signal 9" in err) == (1, True)
        assert list(desk.folder.glob("w.dump*")) == []


def test_a_backup_without_room_leaves_nothing_and_the_file_that_was_there(
    desk: Desk, model: Desk
) -> None:
    file = desk.folder / "old"
    file.write_text("mine")

    def small() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    with model.up("data"):
        full = model.run_within(small, "backup", str(file), "--data", "data", "--force")
    assert full.code == 1
    assert f"{file} cannot be written (File too large)" in full.err
    assert file.read_text() == "mine"
    assert list(desk.folder.iterdir()) == [file]
    nowhere = model.run("backup", str(desk.folder / "no/where"), "--data", "data")
    assert (nowhere.code, "No such file or directory" in nowhere.err) == (1, True)


async def test_a_restore_that_is_killed_is_recognised_and_begun_anew(
    desk: Desk, dump: Path
) -> None:
    new = desk.folder / "new"
    with desk.begin("restore", str(dump), "--data", "new") as restoring:
        try:
            await until((new / "postgresql/cluster").exists, what="it is at work")
        finally:
            restoring.kill()
            restoring.communicate()
    assert (new / UNFINISHED).exists()
    for words in (("up", "--port", str(free_port())), ("doctor",), ("backup", "x.dump")):
        refused = desk.run(*words, "--data", "new")
        assert refused.code != 0
        assert f"'windlass restore {dump} --data {new}' begins anew" in refused.err
    told = desk.good("restore", str(dump), "--data", "new")
    assert "3 jobs (2 unfinished)" in told
    assert not (new / UNFINISHED).exists()
    assert "all is well" in jobs_in(desk, "new")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_ends_a_restore_and_empties_the_folder(
    desk: Desk, dump: Path, number: signal.Signals
) -> None:
    new = desk.folder / "new"
    with desk.begin("restore", str(dump), "--data", "new") as restoring:
        try:
            await until((new / "postgresql/cluster").exists, what="it is at work")
            restoring.send_signal(number)
            _, err = restoring.communicate(timeout=PATIENCE_SECONDS)
        finally:
            restoring.kill()
    assert (restoring.returncode, "nothing was restored" in err) == (130, True)
    assert {path.name for path in new.iterdir()} == {"lock", "log"}
    desk.good("restore", str(dump), "--data", "new", "--skip-doctor")


def test_a_restore_without_room_says_how_much_it_needs(
    desk: Desk, dump: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def small() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))

    full = desk.run_within(small, "restore", str(dump), "--data", "new")
    assert full.code == 1
    assert {path.name for path in (desk.folder / "new").iterdir()} <= {"lock", "log"}
    free = type("Usage", (), {"free": 1_000_000})
    monkeypatch.setattr(shutil, "disk_usage", lambda _: free)
    with pytest.raises(NoRoom, match=r"has 1\.0 MB left, and the backup needs about 1\d\d\."):
        asyncio.run(_tried(dump, desk.folder / "other"))


async def _tried(dump: Path, folder: Path) -> None:
    await restore_into_folder(
        await examine(dump),
        folder,
        examine=Examine(is_wanted=False, retention_days=14),
        tell=lambda _: None,
    )
