"""The documentation leads nowhere wrong, and the check that says so can fail."""

from __future__ import annotations

from pathlib import Path

from docs.check import ROOT, problems


def tree(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


SOUND = {
    "README.md": "# Hi there\n[tour](docs/tour.md#the-end-1) [top](#hi-there) [x](https://x.y)\n",
    "docs/tour.md": '# Tour\n## The end\n## The end\n[up](../README.md "up") `[no](link)`\n'
    "```\n# no heading\n[no](link)\n```\n",
    "docs/guarantees.md": "| G1 | `tests/a/test_jobs.py::test_kept` | `test_also_kept` |\n"
    "See tests/a/test_jobs.py and tests/a/test_folder/x.\n",
    "tests/a/test_jobs.py": "def test_kept(): ...\nclass T:\n    async def test_also_kept(): ...\n",
}


def test_the_documentation_is_sound() -> None:
    assert problems(ROOT) == []


def test_sound_pages_have_no_problems(tmp_path: Path) -> None:
    assert problems(tree(tmp_path, SOUND)) == []


def test_a_dead_link_a_missing_heading_and_a_vanished_test_are_found(tmp_path: Path) -> None:
    unsound = {
        "docs/tour.md": "# Tour\n[a](gone.md) [b](../README.md#gone) [c](#no-heading)\n",
        "docs/guarantees.md": "`test_gone` `tests/b/test_jobs.py::test_kept` `test_also_kept`\n",
        ".venv/x.md": "[ignored](gone.md)\n",
    }
    found = problems(tree(tmp_path, SOUND | unsound))
    assert found == [
        "README.md: docs/tour.md#the-end-1 has no such heading",
        "docs/tour.md: gone.md does not exist",
        "docs/tour.md: ../README.md#gone has no such heading",
        "docs/tour.md: #no-heading has no such heading",
        "docs/guarantees.md: there is no test test_gone",
        "docs/guarantees.md: there is no test tests/b/test_jobs.py::test_kept",
    ]


def test_guarantees_that_name_no_test_are_a_problem(tmp_path: Path) -> None:
    [problem] = problems(tree(tmp_path, SOUND | {"docs/guarantees.md": "trust us\n"}))
    assert "names no test" in problem
