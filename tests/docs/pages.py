"""What a page of the documentation gives its reader to type, paste and see: its steps, in order.

A fenced block of a shell is one step for each command; any other block is one step. How a step is
run is said in tests/docs/newcomer.py, by its language; what a page's reader has besides it, in
tests/docs/readers.py.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from tests.house.repository import ROOT

PAGES: Final = sorted(
    path.relative_to(ROOT).as_posix()
    for path in (ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("docs/operating/*.md"))
)
SHELLS: Final = ("sh", "console")
PYTHON: Final = ("python", "pycon")

_FENCED: Final = re.compile(r"^( *)```([^\n`]*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_ITEM: Final = re.compile(r" {0,3}(?:[-*]|\d+\.) ")
_NAMED: Final = re.compile(r"(?:#|--) ([\w/.-]+\.\w+)\n")
_PROMPT: Final = "$ "


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    page: str
    line: int  # of its block in the page
    language: str
    text: str  # a command, or the whole block
    shown: str | None = None  # the output that stands below a command; None: none does
    is_shown: bool = False  # a console in which nothing is typed

    @property
    def file(self) -> str | None:
        """What the reader saves it as: the name in its first line. None: it is pasted."""
        found = _NAMED.match(self.text)
        return found[1] if found else None

    def alone(self, text: str) -> Step:
        """A part of it."""
        return replace(self, text=text)

    def __str__(self) -> str:
        return f"{self.page}:{self.line}: {self.text.strip().splitlines()[0]}"


def steps(page: str, text: str | None = None) -> list[Step]:
    """`text` is the page, unless it is to be read from its file."""
    text = (ROOT / page).read_text() if text is None else text
    assert not indented(text), f"{page}: fence this, so that it is run: {indented(text)}"
    found = []
    for block in _FENCED.finditer(text):
        language, line = block[2], text.count("\n", 0, block.start()) + 1
        body = re.sub(rf"^{block[1]}", "", block[3], flags=re.MULTILINE)
        for part, shown in _parts(language, body):
            found.append(
                Step(
                    page=page,
                    line=line,
                    language=language,
                    text=part,
                    shown=shown,
                    is_shown=language == "console" and not body.startswith(_PROMPT),
                )
            )
    return found


def indented(text: str) -> str | None:
    """Code that stands in a page without a fence; what belongs to an item of a list is none."""
    lines = _FENCED.sub("", text).split("\n")
    is_item, is_after_blank = False, True
    for line in lines:
        if _ITEM.match(line):
            is_item = True
        elif line and not line.startswith(" "):
            is_item = False
        if is_after_blank and line.startswith("    ") and not is_item:
            return line
        is_after_blank = not line
    return None


def _parts(language: str, body: str) -> Iterator[tuple[str, str | None]]:
    if language == "sh":
        yield from ((command, None) for command in _commands(body.splitlines()))
    elif language == "console" and body.startswith(_PROMPT):
        for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
            [command, *rest] = _commands(part.splitlines(), one=True)
            yield command, "\n".join(rest) or None
    else:
        yield body, None


def _commands(lines: list[str], *, one: bool = False) -> list[str]:
    """`one`: the first is a command, and the other lines are what it says."""
    found: list[str] = []
    while lines:
        command = lines.pop(0)
        while lines and (_goes_on(command) or (not one and lines[0].startswith(" "))):
            command += "\n" + lines.pop(0)
        if command.strip() and not command.startswith("#"):
            found.append(command)
        if one:
            return [*found, *lines]
    return found


def _goes_on(command: str) -> bool:
    if command.endswith("\\"):
        return True
    try:
        shlex.split(command, comments=True)
    except ValueError:
        return True
    return False
