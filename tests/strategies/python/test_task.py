"""Finding tasks on the object that --app names."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.strategies.python import errands
from windlass.errors import AppNotLoaded
from windlass.strategies.python.apps import load_tasks
from windlass.strategies.python.task import tasks_of

HERE = "tests.strategies.python.errands"


def test_an_app_gives_the_tasks_it_registered() -> None:
    tasks = load_tasks(f"{HERE}:app")
    assert {"add", "mail.send", "apart"} <= set(tasks)
    assert tasks["add"].function(1, 2) == 3
    assert (tasks["add"].is_async, tasks["add"].is_isolated) == (False, False)
    assert (tasks["mail.send"].is_async, tasks["mail.send"].is_isolated) == (True, False)
    assert (tasks["apart_async"].is_async, tasks["apart_async"].is_isolated) == (True, True)


def test_a_registered_task_stays_a_plain_function() -> None:
    assert errands.add(2, b=3) == 5


def test_a_module_gives_its_public_functions() -> None:
    tasks = load_tasks("tests.strategies.python:errands")
    assert "decorated" in tasks
    assert "App" not in tasks, "a class is no task"
    assert not any(name.startswith("_") for name in tasks)


def test_a_dictionary_gives_its_public_functions() -> None:
    tasks = load_tasks(f"{HERE}:plain_tasks")
    assert set(tasks) == {"double"}
    assert tasks["double"].function(4) == 8


def test_any_object_gives_its_public_methods() -> None:
    class Shop:
        rate = 2

        def price(self, n: int) -> int:
            return n * self.rate

        def _secret(self) -> None: ...

    assert set(tasks_of(Shop())) == {"price"}
    assert tasks_of(Shop())["price"].function(3) == 6


def test_an_attribute_may_lie_deep() -> None:
    assert "add" in load_tasks(f"{HERE}:app.tasks")


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("", "must look like module:attr"),
        ("module", "must look like module:attr"),
        (":app", "must look like module:attr"),
        (f"{HERE}:", "must look like module:attr"),
        ("no_such_module:app", "there is no module 'no_such_module'"),
        (f"{HERE}:nothing", "has no attribute 'nothing'"),
        (f"{HERE}:app.nothing", "has no attribute 'nothing'"),
        (f"{HERE}:nothing_to_call", "without callables"),
        (f"{HERE}:empty", "without callables"),
    ],
)
def test_a_path_that_leads_nowhere_is_told_with_its_reason(path: str, why: str) -> None:
    with pytest.raises(AppNotLoaded, match=why) as refused:
        load_tasks(path)
    assert repr(path) in str(refused.value)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("def broken(:", "SyntaxError"),
        ("1 / 0", "ZeroDivisionError"),
        ("import no_such_module", "ModuleNotFoundError"),
        ("raise SystemExit(3)", "SystemExit"),
    ],
)
def test_a_module_that_breaks_is_told_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, why: str
) -> None:
    (tmp_path / "broken_app.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "broken_app", raising=False)
    with pytest.raises(AppNotLoaded, match=f"could not be loaded: {why}"):
        load_tasks("broken_app:app")


def test_modules_are_found_in_the_folder_one_stands_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "app_that_is_here.py").write_text("tasks = {'it': print}\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert set(load_tasks("app_that_is_here:tasks")) == {"it"}
