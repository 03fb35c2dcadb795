"""Reading a crontab: its lines as cron reads them, without running anything.

    [NAME = value]        minute hour day month weekday [user] command[%standard input]

A setting holds for the lines below it. In a command an unescaped % ends it and begins its standard
input, where further ones are line ends; \\% is a percent sign.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from windlass.model.schedule.cron import NICKNAMES

# cron keeps these for itself; the others are the command's.
ZONE, DELAY, MAIL = "CRON_TZ", "RANDOM_DELAY", ("MAILTO", "MAILFROM")
_SETTING: Final = re.compile(r"""\s*(["']?)([A-Za-z_][A-Za-z0-9_]*)\1\s*=\s*(.*?)\s*""")
_PERCENT: Final = re.compile(r"(?<!\\)%")
_REBOOT: Final = "@reboot"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line that runs a command."""

    number: int
    text: str  # as it stands there
    cron: str  # five fields, or a nickname
    command: str
    stdin: str | None  # None: there is no % in it
    user: str | None  # None: the crontab has no such field
    settings: Mapping[str, str]  # as they stand at this line
    is_silent: bool = False  # a - before it: cron does not log it


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    number: int
    text: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    number: int
    text: str
    why: str


CrontabLine = Entry | Setting | Unreadable


def read_crontab(text: str, *, has_users: bool) -> Iterator[CrontabLine]:
    """Every line that says something. `has_users`: as in /etc/crontab, a user stands before the
    command.
    """
    settings: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip(" \t\ufeff")
        if not line or line.startswith("#"):
            continue
        found = _SETTING.fullmatch(line)
        if found is not None:
            settings[found[2]] = _unquoted(found[3])
            yield Setting(number=number, text=line, name=found[2])
        else:
            yield _entry(_Source(number=number, text=line), dict(settings), has_users)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    number: int
    text: str

    def unreadable(self, why: str) -> Unreadable:
        return Unreadable(number=self.number, text=self.text, why=why)


def _entry(source: _Source, settings: dict[str, str], has_users: bool) -> CrontabLine:
    is_silent = source.text.startswith("-")
    line = source.text.removeprefix("-")
    count = 1 if line.startswith("@") else 5
    words = line.split(None, count + has_users)
    if len(words) <= count + has_users:
        wanted = "a nickname" if count == 1 else "five fields"
        user = ", a user" if has_users else ""
        return source.unreadable(f"it needs {wanted}{user} and a command")
    cron = " ".join(words[:count])
    if cron.lower() == _REBOOT:
        return source.unreadable("@reboot is about a machine, and schedules belong to none")
    if count == 1 and cron.lower() not in NICKNAMES:
        return source.unreadable(f"{cron} is unknown; known are {' '.join(NICKNAMES)}")
    command, stdin = _split(words[-1])
    return Entry(
        number=source.number,
        text=source.text,
        cron=cron,
        command=command,
        stdin=stdin,
        user=words[count] if has_users else None,
        settings=settings,
        is_silent=is_silent,
    )


def _split(text: str) -> tuple[str, str | None]:
    """The command and its standard input."""
    command, *lines = _PERCENT.split(text)
    stdin = "\n".join(lines) + "\n" if lines else None
    return _unescaped(command).rstrip(), None if stdin is None else _unescaped(stdin)


def _unescaped(text: str) -> str:
    return text.replace("\\%", "%")


def _unquoted(text: str) -> str:
    is_quoted = len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'"
    return text[1:-1] if is_quoted else text
