"""The rooms of the house: not crowded, without fragments, each name once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.house import rooms
from tests.house.repository import ROOT

SOURCE = ROOT / "src" / "windlass"


def put(package: Path, files: dict[str, str]) -> Path:
    """A made-up package of these modules."""
    for name, text in files.items():
        path = package / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return package


@pytest.mark.parametrize("top", [SOURCE, ROOT / "tests", ROOT / "benchmarks"], ids=lambda p: p.name)
def test_no_folder_is_crowded(top: Path) -> None:
    assert list(rooms.crowded(top)) == []


def test_nothing_small_stands_apart_from_its_one_user() -> None:
    assert list(rooms.fragments(SOURCE)) == []


def test_a_public_class_has_its_name_to_itself_in_a_layer() -> None:
    assert list(rooms.twice(SOURCE)) == []


def test_the_contract_of_a_room_names_its_files() -> None:
    assert list(rooms.unnamed(SOURCE)) == []


def test_the_engine_imports_nothing_in_the_middle_of_a_function() -> None:
    assert list(rooms.late_imports(SOURCE / "engine")) == []


def test_nobody_hangs_a_callback_on_a_part_that_stands_already() -> None:
    assert list(rooms.hung_on(SOURCE)) == []


def test_what_stands_alone_is_there_and_says_why() -> None:
    for name, why in rooms.STAND_ALONE.items():
        assert (SOURCE / f"{name}.py").is_file(), name
        assert len(why) > 20, name


def test_a_folder_of_too_many_files_is_named(tmp_path: Path) -> None:
    put(tmp_path / "windlass", {f"room/f{n}": "" for n in range(36)})
    [found] = rooms.crowded(tmp_path / "windlass")
    assert found.startswith("windlass/room holds 36 files")


def test_a_fragment_is_named_with_whom_it_belongs_to(tmp_path: Path) -> None:
    package = put(
        tmp_path / "windlass",
        {
            "room/part": "X = 1\n",
            "room/whole": "from windlass.room.part import X\n",
            "room/other": "",
        },
    )
    assert list(rooms.fragments(package)) == [
        "room/part.py: 1 lines that only whole.py uses; they belong into it"
    ]


@pytest.mark.parametrize(
    "user",
    [
        {"elsewhere/whole": "from windlass.room.part import X\n"},
        {"room/whole": "def f():\n    from windlass.room.part import X\n"},
        {"room/whole": "START = ['-m', 'windlass.room.part']\n"},
        {
            "room/whole": "from windlass.room import part\n",
            "room/also": "from windlass.room import part\n",
        },
        {},
    ],
    ids=["in another room", "when it is needed", "as a process", "two of them", "nobody"],
)
def test_what_has_a_life_of_its_own_is_no_fragment(tmp_path: Path, user: dict[str, str]) -> None:
    package = put(tmp_path / "windlass", {"room/part": "X = 1\n", **user})
    assert list(rooms.fragments(package)) == []


def test_what_is_long_is_no_fragment(tmp_path: Path) -> None:
    package = put(
        tmp_path / "windlass",
        {
            "room/part": "X = 1\n" * 61,
            "room/whole": "from windlass.room.part import X\n",
        },
    )
    assert list(rooms.fragments(package)) == []


def test_a_name_that_stands_twice_in_a_layer_is_named_with_its_paths(tmp_path: Path) -> None:
    package = put(
        tmp_path / "windlass",
        {
            "engine/a": "class Row: ...\nclass _Own: ...\n",
            "engine/b/c": "class Row: ...\nclass _Own: ...\n",
            "model/a": "class Row: ...\n",
        },
    )
    assert list(rooms.twice(package)) == [
        "engine: Row stands in engine/a.py, engine/b/c.py; say in the name what each is"
    ]


def test_a_file_that_its_room_does_not_name_is_named(tmp_path: Path) -> None:
    package = put(
        tmp_path / "windlass",
        {
            "room/__init__": '"""A room: door.py is its door, and below there is more."""\n',
            "room/door": "",
            "room/cellar": "",
            "room/below/__init__": '"""Nothing is here."""\n',
        },
    )
    assert list(rooms.unnamed(package)) == ["room: its contract does not say what cellar is for"]


def test_an_import_in_a_function_is_named(tmp_path: Path) -> None:
    room = put(tmp_path / "engine", {"a": "def f():\n    import json\n", "b": "import json\n"})
    assert list(rooms.late_imports(room)) == [
        "engine/a.py:2: an import in a function; put it on top"
    ]


def test_a_callback_that_is_hung_on_a_part_is_named_with_where_it_goes(tmp_path: Path) -> None:
    package = put(
        tmp_path / "windlass",
        {
            "runtime/a": "def f(lease, x):\n    lease.on_lost, lease.url = x\n",
            "engine/b": "class B:\n    def __init__(self, on_end):\n        self.on_end = on_end\n",
            "engine/c": "class C:\n    def f(self, g):\n        self.part.may_begin = g\n",
            "compose/start": "def start(enqueuer, node):\n    enqueuer.starter = node\n",
            "model/draft": "def read(draft):\n    draft.on_parent_failure = 'run'\n",
        },
    )
    found = list(rooms.hung_on(package))
    assert [text.partition(" is assigned")[0] for text in found] == [
        "engine/c.py:3: self.part.may_begin",
        "runtime/a.py:2: lease.on_lost",
    ]
    assert all("engine/upcalls.py" in text for text in found)
