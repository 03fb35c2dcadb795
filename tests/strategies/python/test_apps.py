"""`--app`: one or several, and what is said of those that cannot be loaded."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from windlass.errors import AppNotLoaded
from windlass.strategies.python.apps import load_apps, load_tasks

APP = "import windlass\napp = windlass.App({name!r})\n@app.task\ndef {task}() -> None: ...\n"


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working directory with a package `shop` and a module `mail`."""
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop/__init__.py").write_text("")
    (tmp_path / "shop/tasks.py").write_text(APP.format(name="shop", task="charge"))
    (tmp_path / "mail.py").write_text(APP.format(name="mail", task="send"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    known = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - known:
        del sys.modules[name]


def test_the_tasks_of_all_of_them_are_served(shop: Path) -> None:
    assert set(load_tasks("shop.tasks:app,mail:app")) == {"charge", "send"}
    assert [app.name for app in load_apps("shop.tasks:app,mail:app")] == ["shop", "mail"]


def test_one_object_by_two_paths_is_one_app(shop: Path) -> None:
    (shop / "again.py").write_text("from shop.tasks import app\n")
    assert [app.path for app in load_apps("shop.tasks:app,again:app")] == ["shop.tasks:app"]


@pytest.mark.parametrize(
    ("name", "task", "said"),
    [
        ("shop", "other", "--app shop.tasks:app and --app two:app are both named 'shop'"),
        ("two", "charge", "--app shop.tasks:app and --app two:app both have a task 'charge'"),
    ],
)
def test_what_two_apps_call_by_one_name_is_said_of_both(
    shop: Path, name: str, task: str, said: str
) -> None:
    (shop / "two.py").write_text(APP.format(name=name, task=task))
    with pytest.raises(AppNotLoaded, match=said):
        load_tasks("shop.tasks:app,two:app")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("shop.task:app", "shop.tasks:app"),
        ("shp.tasks:app", "shop.tasks:app"),
        ("shop.tasks:ap", "shop.tasks:app"),
        ("shop.tasks:windlass_app", "shop.tasks:app"),
        ("mial:app", "mail:app"),
    ],
)
def test_a_slip_is_answered_with_what_was_probably_meant(
    shop: Path, typed: str, meant: str
) -> None:
    with pytest.raises(AppNotLoaded) as refused:
        load_apps(typed)
    assert str(refused.value).endswith(f"did you mean --app {meant}?")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\n1 / 0\n", r"ZeroDivisionError: division by zero \(broken.py, line 2\)"),
        ("def broken(:\n", r"SyntaxError: invalid syntax \(broken.py, line 1\)"),
        ("\n\nimport not_there\n", r"No module named 'not_there' \(broken.py, line 3\)"),
        ("import json\njson.loads('{')\n", r"JSONDecodeError: .* \(broken.py, line 2\)"),
        ("raise ValueError('one\\ntwo')\n", r"ValueError: one \(broken.py, line 1\)$"),
    ],
)
def test_a_module_that_raises_is_told_with_the_line_that_did(
    shop: Path, text: str, said: str
) -> None:
    (shop / "broken.py").write_text(text)
    with pytest.raises(AppNotLoaded, match=said) as refused:
        load_apps("broken:app")
    assert "\n" not in str(refused.value)
