"""Query parameters: declared once, checked and documented from the same table.

An unknown parameter is refused: a misspelt filter must not quietly answer something else. But for
routes that somebody else sends a browser to, with whatever he adds.
Pointers to query parameters are written `?name`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qsl

from starlette.types import Scope

from windlass import ids
from windlass.duration import parse_seconds
from windlass.errors import FieldProblem, InvalidInput
from windlass.limits import (
    KEY_CHARS_MAX,
    PAGE_DEFAULT,
    PAGE_MAX,
    TAG_CHARS_MAX,
    WAIT_SECONDS_MAX,
)
from windlass.model.job.submission import read_instant, read_name
from windlass.model.json.value_schema import INSTANT_SCHEMA, NAME_SCHEMA

FIELDS_MAX: Final = 100
# Text to look for may be anything that could have been stored, and more.
_NO_CONTROL: Final = r"[^\u0000-\u001f\u007f-\u009f]"
_TEXT: Final = re.compile(f"{_NO_CONTROL}+")
# Up to a minute: seconds with or without their letter, or the same in other words.
_WAIT_PATTERN: Final = (
    r"((60|[0-5]?[0-9]([.][0-9]{1,6})?)s?|[0-5]?[0-9]{1,4}ms|60000ms|1m|0[.][0-9]{1,6}m)"
)
_WAIT: Final = re.compile(_WAIT_PATTERN)
_RANGE_WORDS: Final = {
    "since": "after",
    "until": "before",
    "after": "after",
    "before": "before",
    "from": "after",
    "to": "before",
}
_TYPE_PATTERN: Final = "[a-z][a-z_]{0,39}"
assert WAIT_SECONDS_MAX == 60, "the pattern above says so"


@dataclass(frozen=True, slots=True, kw_only=True)
class Param:
    """One parameter: how it is read (ValueError says what is allowed) and how it is described."""

    name: str
    read: Callable[[str], Any]
    description: str
    schema: dict[str, Any] = field(default_factory=lambda: {"type": "string"})
    is_list: bool = False  # may stand several times; the value is a tuple
    is_required: bool = False  # refused where it is needed; here it is only described


def read_query(scope: Scope, params: Sequence[Param], *, takes_any: bool = False) -> dict[str, Any]:
    """The given values by name. Raises InvalidInput with every problem."""
    text = scope["query_string"]
    if not text:
        return {}
    known = {param.name: param for param in params}
    values: dict[str, Any] = {}
    problems: list[FieldProblem] = []
    for name, raw in _pairs(text):
        param = known.get(name)
        if param is None and takes_any:
            continue
        if param is None:
            offered = f"known are {' '.join(known)}" if known else "none is taken here"
            detail = f"unknown parameter; {say_instead(name, known)}{offered}"
            problems.append(_problem(name, detail))
            continue
        try:
            value = param.read(raw)
        except ValueError as trouble:
            problems.append(_problem(name, str(trouble)))
            continue
        if param.is_list:
            values[name] = (*values.get(name, ()), *value)
        elif name in values:
            problems.append(_problem(name, "is given more than once"))
        else:
            values[name] = value
    if problems:
        raise InvalidInput(*problems)
    return values


def _pairs(text: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(
            text.decode("ascii"),
            keep_blank_values=True,
            encoding="utf-8",
            errors="strict",
            max_num_fields=FIELDS_MAX,
        )
    except UnicodeError:
        raise InvalidInput.at("?", "the query is not percent-encoded UTF-8") from None
    except ValueError:
        raise InvalidInput.at("?", f"more than {FIELDS_MAX} parameters") from None


def _problem(name: str, detail: str) -> FieldProblem:
    return FieldProblem(pointer=f"?{name[:60]}", detail=detail)


def _limit(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 6 and 1 <= int(text) <= PAGE_MAX):
        raise ValueError(f"must be a whole number from 1 to {PAGE_MAX}")
    return int(text)


def limit_param(default: int = PAGE_DEFAULT) -> Param:
    return Param(
        name="limit",
        read=_limit,
        description="How many at most",
        schema={"type": "integer", "minimum": 1, "maximum": PAGE_MAX, "default": default},
    )


def id_param(name: str, noun: str, description: str) -> Param:
    return Param(
        name=name,
        read=lambda text: ids.parse(noun, text),
        description=description,
        schema=id_schema(noun),
    )


def name_param(name: str, description: str) -> Param:
    return Param(name=name, read=read_name, description=description, schema=NAME_SCHEMA)


def text_param(name: str, description: str, chars_max: int = KEY_CHARS_MAX) -> Param:
    return Param(
        name=name,
        read=lambda text: read_short_text(text, chars_max),
        description=description,
        schema=short_text_schema(chars_max),
    )


def read_short_text(value: object, chars_max: int) -> str:
    """Text to look for."""
    if not isinstance(value, str) or len(value) > chars_max or not _TEXT.fullmatch(value):
        raise ValueError(f"must be 1 to {chars_max} characters, none of them control characters")
    return value


def short_text_schema(chars_max: int) -> dict[str, Any]:
    """Of the texts that read_short_text takes."""
    return {
        "type": "string",
        "minLength": 1,
        "maxLength": chars_max,
        "pattern": f"^{_NO_CONTROL}*$",
    }


def type_param() -> Param:
    def read(text: str) -> str:
        if not re.fullmatch(_TYPE_PATTERN, text):
            raise ValueError("must be the type of an event, such as finished")
        return text

    return Param(
        name="type",
        read=read,
        description="Events of this type, such as `finished`",
        schema={"type": "string", "pattern": f"^{_TYPE_PATTERN}$"},
    )


def tag_param(nouns: str = "Jobs") -> Param:
    return text_param("tag", f"{nouns} that carry this tag", TAG_CHARS_MAX)


def instant_param(name: str, description: str) -> Param:
    return Param(
        name=name,
        # A plus that was not encoded has become a space; nothing else could stand there.
        read=lambda text: read_instant(text.replace(" ", "+")),
        description=description,
        schema=INSTANT_SCHEMA,
    )


def created_params(nouns: str, verb: str = "made", unless: str = "") -> tuple[Param, Param]:
    """From an instant on, up to another: ranges that meet neither overlap nor leave a gap."""
    return (
        instant_param("created_after", f"{nouns} {verb} at this instant or later{unless}"),
        instant_param("created_before", f"{nouns} {verb} before this instant, not at it"),
    )


def finished_params(nouns: str) -> tuple[Param, Param]:
    """The same by when they ended; what has not ended is in no such range."""
    return (
        instant_param("finished_after", f"{nouns} that ended at this instant or later"),
        instant_param("finished_before", f"{nouns} that ended before this instant, not at it"),
    )


def say_instead(name: str, known: Collection[str]) -> str:
    """A hint for who uses a word of other APIs, and of our first drafts, for a range of time."""
    word = _RANGE_WORDS.get(name)
    ours = [f"{what}_{word}" for what in ("finished", "created") if f"{what}_{word}" in known]
    return f"say {' or '.join(ours)}; " if ours else ""


def read_wait(text: str) -> float:
    """How long a caller would wait. Raises ValueError."""
    if not _WAIT.fullmatch(text):
        raise ValueError(
            f'must be at most {WAIT_SECONDS_MAX:.0f} seconds, such as "20s" or "500ms"'
        )
    return parse_seconds(text if text[-1].isalpha() else float(text), WAIT_SECONDS_MAX)


def wait_param(noun: str = "job") -> Param:
    return Param(
        name="wait",
        read=read_wait,
        description=f"Hold the answer until the {noun} has ended, at most {WAIT_SECONDS_MAX:.0f} s",
        schema={"type": "string", "pattern": f"^{_WAIT_PATTERN}$"},
    )


def choices_param(name: str, choices: Sequence[str], description: str) -> Param:
    """One or several of `choices`: separated by commas, or by repeating the parameter."""

    def read(text: str) -> tuple[str, ...]:
        given = tuple(text.split(","))
        for word in given:
            if word not in choices:
                raise ValueError(f"{word[:60]!r} is not one of: {' '.join(choices)}")
        return given

    return Param(
        name=name,
        read=read,
        description=description,
        schema={"type": "array", "items": {"type": "string", "enum": list(choices)}, "minItems": 1},
        is_list=True,
    )


def id_schema(noun: str) -> dict[str, Any]:
    return {"type": "string", "pattern": f"^{ids.PREFIXES[noun]}[0-9a-f]{{32}}$"}
