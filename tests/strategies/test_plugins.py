"""What can be wrong with a plugin is said of it, and of nobody else."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType

import pytest

from tests.runtime.worker.installed import Installed
from windlass.strategies.plugins.load import Plugin, load_plugins

GOOD = """
    class Good:
        async def perform(self, attempt):
            return None
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installed]:
    made = Installed(tmp_path / "installed")
    monkeypatch.syspath_prepend(str(made.folder))
    before = set(sys.modules)
    yield made
    for name in set(sys.modules) - before:
        del sys.modules[name]


WRONG = [
    ("Good = 5", "it leads to a int; it must lead to a class"),
    ("class Good: ...", "class Good has no `async def perform(self, attempt)`"),
    ("class Good:\n    def perform(self, attempt): ...", "has no `async def perform"),
    ("class Bad: ...", "AttributeError: module 'acme_odd' has no attribute 'Good'"),
    ("raise SystemExit(3)", "SystemExit: 3"),
    ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
    ("class Good(", "SyntaxError: "),
    ("class Good:\n    def __init__(self, size): ...", "TypeError: "),
    ("class Good:\n    input_schema = []", "input_schema must be a JSON Schema as a dict"),
    ("class Good:\n    input_schema = {'type': 'toast'}", "input_schema/type must be"),
    ("class Good:\n    output_schema = {'enum': [object()]}", "output_schema must be JSON: "),
]


@pytest.mark.parametrize(("text", "said"), WRONG)
def test_a_plugin_that_cannot_be_one_says_why(installed: Installed, text: str, said: str) -> None:
    installed.distribution("acme_odd", "1", {"odd": "acme_odd:Good"})
    installed.distribution("acme_good", "2", {"good": "acme_good:Good"})
    installed.module("acme_odd.py", text)
    installed.module("acme_good.py", GOOD)
    found = load_plugins()
    assert found["odd"].strategy is None
    assert found["odd"].error is not None
    assert found["odd"].error.startswith("acme_odd:Good: ")
    assert said in found["odd"].error
    assert works(found["good"])


def works(plugin: Plugin) -> bool:
    return plugin.error is None and plugin.strategy is not None


@pytest.mark.parametrize("kind", ["python", "workflow", "switch", "9lives", "Fax", "a-b", "a" * 65])
def test_a_name_that_cannot_be_had(installed: Installed, kind: str) -> None:
    installed.distribution("acme_good", "1", {kind: "acme_good:Good"})
    installed.module("acme_good.py", GOOD)
    for is_again in (False, True):
        assert not works(load_plugins(is_again=is_again)[kind])


def test_a_kind_that_two_bring_is_nobodys(installed: Installed) -> None:
    for name in ("acme_one", "acme_two"):
        installed.distribution(name, "1", {"good": f"{name}:Good"})
        installed.module(f"{name}.py", GOOD)
    assert "2 distributions bring kind 'good'" in str(load_plugins()["good"].error)


@pytest.mark.parametrize("value", ["", "acme", "acme good:Good", ":", "acme_good:"])
def test_an_entry_that_names_nothing(installed: Installed, value: str) -> None:
    installed.distribution("acme_good", "1", {"good": value})
    for is_again in (False, True):
        found = load_plugins(is_again=is_again)
        assert "good" not in found or not works(found["good"])


def test_entry_points_that_nobody_can_read_do_not_keep_a_node_from_starting(
    installed: Installed,
) -> None:
    installed.distribution("acme_good", "1", {})
    (installed.folder / "acme_good.dist-info" / "entry_points.txt").write_bytes(b"\xff\xfe\xff")
    assert load_plugins() == {}
    with pytest.raises(UnicodeDecodeError):
        load_plugins(is_again=True)


def test_loading_again_imports_the_whole_package_and_nothing_else(installed: Installed) -> None:
    installed.distribution("acme_good", "1", {"good": "acme_good.deep:Good"})
    installed.module("acme_other.py", "SAYS = 'old'")
    installed.module("acme_good/__init__.py", "")
    installed.module("acme_good/words.py", "SAYS = 'old'")
    text = "import acme_other\nfrom acme_good.words import SAYS\n"
    installed.module(
        "acme_good/deep.py",
        text
        + "class Good:\n    said = SAYS + acme_other.SAYS\n    async def perform(self, a): ...",
    )

    def said(plugin: Plugin) -> str:
        assert plugin.strategy is not None
        found: str = plugin.strategy._inner.said
        return found

    first = load_plugins()["good"]
    for path in ("acme_other.py", "acme_good/words.py"):
        installed.module(path, "SAYS = 'newer'")
    second = load_plugins(is_again=True)["good"]
    assert (said(first), said(second)) == ("oldold", "newerold")
    assert first.digest != second.digest == load_plugins(is_again=True)["good"].digest


def test_a_schema_may_be_any_mapping(installed: Installed, monkeypatch: pytest.MonkeyPatch) -> None:
    installed.distribution("acme_good", "1", {"good": "acme_good:Good"})
    installed.module("acme_good.py", GOOD)
    __import__("acme_good")
    schema = MappingProxyType({"required": ["to"]})
    monkeypatch.setattr(sys.modules["acme_good"].Good, "input_schema", schema, raising=False)
    found = load_plugins()["good"]
    assert found.strategy is not None
    assert [pointer for pointer, _ in found.strategy.check_input({})] == ["/to"]
