"""Which job stands for a command of a crontab: there is no kind that runs a shell.

`--as python:TASK` calls a task of yours with what the line says, `--as http:URL` posts it, and
`--template` is a whole job in which ${command} and the like are filled in.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from windlass.cli.exits import BadUsage
from windlass.cli.imports.crontab import DELAY, MAIL, ZONE, Entry
from windlass.cli.values import json_object

_WORDS: Final = ("command", "stdin", "user", "environment")
_ADDRESS: Final = ("http://", "https://")
_WHOLE: Final = {f"${{{word}}}": word for word in _WORDS}


class JobMaker:
    def __init__(self, given_as: str | None, template: str | None) -> None:
        """Raises BadUsage for what leads to no job."""
        if given_as is not None and template is not None:
            raise BadUsage("give --as or --template, not both")
        self._template: dict[str, Any] | None = None
        if template is not None:
            self._template = json_object("--template", template)
        elif given_as is not None:
            self._template = _template_of(given_as)

    @property
    def is_told(self) -> bool:
        """May jobs be made at all?"""
        return self._template is not None

    def job(self, entry: Entry) -> dict[str, Any] | None:
        """The job of a line. None: nobody said which."""
        if self._template is None:
            return None
        facts = {
            "command": entry.command,
            "stdin": entry.stdin,
            "user": entry.user,
            "environment": environment(entry),
        }
        filled: dict[str, Any] = _filled(self._template, facts)
        return filled


def environment(entry: Entry) -> dict[str, str]:
    """The settings that are the command's, and not cron's own."""
    own = (ZONE, DELAY, *MAIL)
    return {name: value for name, value in entry.settings.items() if name not in own}


def _template_of(given: str) -> dict[str, Any]:
    kind, _, rest = given.partition(":")
    facts = {word: f"${{{word}}}" for word in _WORDS}
    if kind == "python" and rest:
        return {"kind": "python", "input": {"task": rest, "kwargs": facts}}
    url = rest if rest.startswith(_ADDRESS) else given
    if kind in ("http", "https") and url.startswith(_ADDRESS):
        return {"kind": "http", "input": {"method": "POST", "url": url, "json": facts}}
    raise BadUsage("--as must be python:TASK or http:URL, such as python:run_command")


def _filled(value: Any, facts: Mapping[str, Any]) -> Any:
    if isinstance(value, str):
        return _filled_text(value, facts)
    if isinstance(value, dict):
        return {name: _filled(inner, facts) for name, inner in value.items()}
    if isinstance(value, list):
        return [_filled(inner, facts) for inner in value]
    return value


def _filled_text(text: str, facts: Mapping[str, Any]) -> Any:
    if text in _WHOLE:
        return facts[_WHOLE[text]]
    for mark, word in _WHOLE.items():
        if mark in text:
            text = text.replace(mark, str(facts[word] or ""))
    return text
