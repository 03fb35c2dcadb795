"""Imports go one way, from the top of the house to its ground."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.house.layers import violations

SOURCE = Path(__file__).parents[2] / "src" / "windlass"


def broken(package: Path) -> list[str]:
    return violations(package, frozenset(sys.stdlib_module_names))


def house(folder: Path, files: dict[str, str]) -> Path:
    """A made-up source tree that holds every room and the given files."""
    package = folder / "windlass"
    rooms = "model telemetry store fastlane strategies engine runtime api"
    for name in [*rooms.split(), "compose", "cli", "sdk", "embedded", "testing"]:
        (package / name).mkdir(parents=True)
        (package / name / "__init__.py").touch()
    for name in ("errors", "limits", "clock", "chance", "ids", "config", "__init__"):
        (package / f"{name}.py").touch()
    for name, text in files.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)
    return package


def test_windlass_keeps_to_its_map() -> None:
    assert len(list(SOURCE.rglob("*.py"))) > 10
    assert broken(SOURCE) == []


ALLOWED = {
    "model/a.py": "from windlass.errors import X\nfrom windlass import ids, limits\nimport re\n",
    "telemetry/a.py": "import windlass.model.job.states\n",
    "store/a.py": "from windlass.store import b\nfrom . import b\nimport windlass.telemetry\n",
    "store/b.py": "from windlass.model import job\nimport asyncpg\n",
    "engine/a.py": "from windlass.store import b\nfrom windlass.fastlane import c\n",
    "runtime/a.py": "from windlass.engine import claim\nfrom windlass import __version__\n",
    "api/a.py": "from windlass.engine import claim\nfrom ..store import b\n",
    "cli/a.py": "from windlass.embedded import p\nfrom windlass.sdk import Client\n"
    "def f():\n    import windlass.runtime, windlass.api\n",
    "sdk/a.py": "import asyncio, httptools, msgspec\nfrom windlass.model import retry\n",
    "sdk/bridges/a.py": "import django.tasks, celery\nfrom windlass.sdk.tasks.app import App\n"
    "def f():\n    from windlass.compose import start\n",
    "embedded/a.py": "from windlass import config\n",
    "testing/a.py": "from windlass.embedded import p\nfrom windlass.engine import claim\n",
    "config.py": "from windlass.limits import L\nfrom windlass.errors import E\n",
    "__init__.py": "from windlass.sdk import App\nfrom windlass.errors import WindlassError\n",
    "__main__.py": "from windlass.cli import main\n",
}


def test_a_house_in_order_has_no_violations(tmp_path: Path) -> None:
    assert broken(house(tmp_path, ALLOWED)) == []


@pytest.mark.parametrize(
    ("file", "text", "why"),
    [
        ("limits.py", "from windlass.errors import E", "limits may not import errors"),
        ("limits.py", "import windlass.model", "limits may not import model"),
        ("config.py", "from windlass.model import m", "config may not import model"),
        ("model/a.py", "from windlass.telemetry import t", "model may not import telemetry"),
        ("model/a.py", "from windlass import clock", "model may not import clock"),
        ("model/a.py", "from windlass.chance import chance", "model may not import chance"),
        ("model/a.py", "import time", "model is pure and may not import time"),
        ("model/a.py", "from random import random", "model is pure and may not import random"),
        ("model/a.py", "async def f(): ...", "model never waits"),
        ("telemetry/a.py", "from windlass.store import s", "telemetry may not import store"),
        ("store/a.py", "from windlass.fastlane import f", "store may not import fastlane"),
        ("fastlane/a.py", "from windlass import strategies", "fastlane may not import strategies"),
        ("strategies/deep/a.py", "from ...store import s", "strategies may not import store"),
        ("store/a.py", "def f():\n    import windlass.engine", "store may not import engine"),
        ("store/a.py", "if 0:\n    from windlass.api import a", "store may not import api"),
        ("engine/a.py", "from ..runtime import r", "engine may not import runtime"),
        ("engine/a.py", "from windlass.embedded import e", "engine may not import embedded"),
        ("runtime/a.py", "from windlass.api import a", "runtime may not import api"),
        ("api/a.py", "import windlass.runtime.loop as x", "api may not import runtime"),
        ("api/a.py", "from windlass.sdk import Client", "api may not import sdk"),
        ("api/a.py", "from windlass import App", "api may take only __version__"),
        ("runtime/a.py", "import windlass", "runtime may take only __version__"),
        ("runtime/a.py", "from windlass.cli import c", "runtime may not import cli"),
        ("cli/a.py", "from windlass.testing import t", "cli may not import testing"),
        ("sdk/a.py", "from windlass.engine import claim", "sdk may not import engine"),
        ("sdk/a.py", "import asyncpg", "sdk may not import asyncpg"),
        ("sdk/a.py", "import aiohttp", "sdk may not import aiohttp"),
        ("sdk/a.py", "import litestar.openapi", "sdk may not import litestar"),
        ("sdk/a.py", "from windlass.sdk.bridges import a", "sdk may not import sdk.bridges"),
        ("sdk/bridges/a.py", "import flask", "sdk.bridges may not import flask"),
        ("sdk/bridges/a.py", "import windlass.engine", "sdk.bridges may not import engine"),
        ("embedded/a.py", "from windlass.model import m", "embedded may not import model"),
        ("testing/a.py", "import windlass.sdk.bridges", "testing may not import sdk.bridges"),
        ("__init__.py", "from windlass.engine import claim", "__init__ may not import engine"),
        (
            "store/a.py",
            "import importlib\nimportlib.import_module('windlass.engine.jobs.claim')",
            "store may not import engine",
        ),
        ("helper/a.py", "", "helper is on no level"),
    ],
)
def test_a_line_that_leaves_the_map_is_found(
    tmp_path: Path, file: str, text: str, why: str
) -> None:
    [violation] = broken(house(tmp_path, {file: text}))
    assert violation.startswith(f"windlass/{file}:")
    assert why in violation
