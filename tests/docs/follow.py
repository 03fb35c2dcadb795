"""A page, followed: each of its steps is done, and what the page shows is what comes of it.

A step of a shell is typed and ends as it should; one of Python is pasted, or saved where its first
line is a file's name; what `print(…)  # this` says is printed. SQL is run, a workflow is validated,
settings are read by Windlass. What only shows something (a log, a body) is shown by a command of
tests/docs/readers.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar

from tests.docs.newcomer import Newcomer, Said
from tests.docs.pages import SHELLS, Step, steps
from tests.docs.shown import holds_shown, is_shown

T = TypeVar("T")

_PRINTED: Final = re.compile(r"^ *print\(.*\)  # (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """What somebody who follows a page has and knows besides it. Keys are how a step begins."""

    page: str
    node: bool = True  # one is up before the page is read; else the page begins one
    app: str = ""  # that the node performs
    settings: Mapping[str, str] = field(default_factory=dict)  # of the node
    files: Mapping[str, str] = field(default_factory=dict)
    # Typed out of sight, before or after a step. What begins with `>>> ` goes to the interpreter.
    first: str = ""
    before: Mapping[str, str] = field(default_factory=dict)
    after: Mapping[str, str] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)  # of the page, and what they are here
    numbers: frozenset[str] = frozenset()  # steps in which a number in a column is any
    fails: Mapping[str, int] = field(default_factory=dict)  # exit codes that are not 0
    # What is not typed: the command that shows it, or takes it from the file `block`; or what
    # raises when it is wrong.
    shows: Mapping[str, str] = field(default_factory=dict)
    judges: Mapping[str, Callable[[str], None]] = field(default_factory=dict)

    def keys(self) -> set[str]:
        return {
            *self.numbers,
            *(*self.before, *self.after, *self.fails, *self.shows, *self.judges),
        }


def of(step: Step, known: Mapping[str, T]) -> T | None:
    """What is known of a step."""
    whole = f"{step.text}\n{step.shown or ''}"
    return next((found for start, found in known.items() if whole.startswith(start)), None)


def follow(reader: Reader, newcomer: Newcomer, not_run: Mapping[str, str]) -> None:
    newcomer.words = {
        word: here.replace("$NOBODY", newcomer.environ["NOBODY"])
        for word, here in reader.words.items()
    }
    if reader.first:
        hidden(newcomer, reader.first)
    for step in steps(reader.page):
        if of(step, not_run) is not None:
            continue
        if (more := of(step, reader.before)) is not None:
            hidden(newcomer, more)
        try:
            do(step, reader, newcomer)
        except AssertionError as wrong:
            raise AssertionError(f"{step}\n{wrong}") from wrong
        if (more := of(step, reader.after)) is not None:
            hidden(newcomer, more)


def hidden(newcomer: Newcomer, text: str) -> str:
    """It must succeed. Paragraphs are typed one after the other; what the last one says."""
    told = ""
    for part in text.strip().split("\n\n"):
        if part.startswith(">>> "):
            code = "\n".join(line.removeprefix(">>> ") for line in part.splitlines())
            told = newcomer.paste(Step(page="hidden", line=0, language="python", text=code))
        else:
            said = newcomer.enter(part)
            assert not said.code, f"{part}\n{said.text}"
            told = said.text
    return told


def do(step: Step, reader: Reader, newcomer: Newcomer) -> None:
    if (judge := of(step, reader.judges)) is not None:
        judge(step.text)
    elif (command := of(step, reader.shows)) is not None:
        newcomer.write("block", step.text)
        said = hidden(newcomer, command)
        if step.language in ("", "text", "console"):
            assert holds_shown(newcomer.here(step.text), said), f"is not shown by\n{said}"
    elif step.language in SHELLS:
        typed(step, newcomer.enter(step.text), reader, newcomer)
    elif step.file is not None:
        newcomer.write(step.file, step.text)
        if check := FILES.get(step.language):
            hidden(newcomer, check(step.file))
    else:
        PASTED[step.language](step, newcomer)


def typed(step: Step, said: Said, reader: Reader, newcomer: Newcomer) -> None:
    if said.code is not None:
        expected = of(step, reader.fails) or 0
        assert said.code == expected, f"ended with {said.code}:\n{said.text}"
    if step.shown is not None:
        shown = newcomer.here(step.shown)
        if of(step, dict.fromkeys(reader.numbers, True)):
            shown = re.sub(r"(?<=  )\d+(?=  )", "…", shown)
        is_so = holds_shown if said.code is None else is_shown
        assert is_so(shown, said.text), f"shows\n{shown}\nand what is said is\n{said.text}"


def python(step: Step, newcomer: Newcomer) -> None:
    said = newcomer.paste(step)
    printed = "\n".join(_PRINTED.findall(step.text))
    assert holds_shown(newcomer.here(printed), said), f"prints\n{said}"


def pycon(step: Step, newcomer: Newcomer) -> None:
    for typing in re.split(r"^(?=>>> )", step.text, flags=re.MULTILINE)[1:]:
        lines = typing.splitlines()
        shown = [line for line in lines if not line.startswith((">>> ", "... "))]
        said = newcomer.paste(step.alone("\n".join(lines[: len(lines) - len(shown)])))
        assert is_shown("\n".join(shown), said), f"{typing}\nsays\n{said}"


def sql(step: Step, newcomer: Newcomer) -> None:
    newcomer.write("block.sql", step.text)
    hidden(newcomer, "db -f block.sql")


# By language: of a file the command that reads it; of a block without a file's name what is done.
FILES: Final[Mapping[str, Callable[[str], str]]] = {
    "yaml": lambda name: f"windlass workflow validate {name}",
    "toml": lambda name: (
        "windlass config show" if name == "windlass.toml" else f"python -c '{_TOML}' {name}"
    ),
    "ini": lambda name: f"systemd-analyze verify {name}",
}
PASTED: Final[Mapping[str, Callable[[Step, Newcomer], None]]] = {
    "python": python,
    "pycon": pycon,
    "sql": sql,
}
_TOML: Final = 'import sys, tomllib; tomllib.load(open(sys.argv[1], "rb"))'


def is_known(step: Step, reader: Reader) -> bool:
    """Does anybody know how to do this?"""
    if of(step, reader.shows) is not None or of(step, reader.judges) is not None:
        return True
    if step.language in SHELLS:
        return not (step.language == "console" and step.is_shown)
    return (step.file is not None and step.language in ("python", *FILES)) or (
        step.file is None and step.language in PASTED
    )
