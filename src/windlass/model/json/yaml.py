"""YAML that means what it looks like: the values of JSON in another layout.

Scalars are those of YAML 1.2: `no` and `on` are texts, a date is a text. Refused are tags, twin
keys, keys that are no text, several documents, merge keys and numbers that other readers take for
something else. Anchors may be used; what they unfold to is bounded, so a few lines cannot become a
billion. What is written here, any reader of YAML 1.1 or 1.2 reads back as it was.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any, Final

import yaml  # type: ignore[import-untyped]

from windlass.errors import MalformedBody
from windlass.limits import JSON_DEPTH_MAX, YAML_NODES_MAX

_WORDS: Final = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INT: Final = re.compile(r"[-+]?(0|[1-9][0-9]{0,39})")
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
# Octal to some, decimal to others; not numbers in JSON.
_DOUBTFUL: Final = re.compile(
    r"[-+]?(0[0-9]+|0x[0-9A-Fa-f]+|[0-9]{41,}|\.(inf|Inf|INF))|\.(nan|NaN|NAN)"
)
_OPENS: Final = (yaml.MappingStartEvent, yaml.SequenceStartEvent)
_CLOSES: Final = (yaml.MappingEndEvent, yaml.SequenceEndEvent)
_LINE_CHARS: Final = 100


class _Refused(Exception):
    def __init__(self, event: Any, why: str) -> None:
        mark = event.start_mark
        super().__init__(f"line {mark.line + 1}, column {mark.column + 1}: {why}")


def parse(body: bytes) -> Any:
    """The value in `body`, or MalformedBody that says what is wrong and in which line."""
    try:
        return _build(yaml.parse(body.decode("utf-8"), Loader=yaml.CSafeLoader))
    except UnicodeDecodeError as problem:
        raise MalformedBody.at("", f"the text is not UTF-8: {problem.reason}") from None
    except _Refused as problem:
        raise MalformedBody.at("", str(problem)) from None
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark is not None else ""
        raise MalformedBody.at("", f"{where}{problem.problem or 'is not YAML'}") from None
    except yaml.YAMLError as problem:
        said = str(problem).splitlines()[0][:200]
        raise MalformedBody.at("", f"the text is not YAML: {said}") from None


def write(value: Any) -> str:
    """`value` as YAML; keys stay in their order."""
    text: str = yaml.dump(
        value,
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=False,
        width=_LINE_CHARS,
    )
    return text


class _Open:
    """A list or mapping under construction."""

    def __init__(self, event: Any) -> None:
        self.event = event
        self.value: Any = {} if isinstance(event, yaml.MappingStartEvent) else []
        self.key: str | None = None  # of a mapping; None: the next scalar is one
        self.nodes = 1

    def put(self, event: Any, value: Any, nodes: int) -> None:
        self.nodes += nodes
        if isinstance(self.value, list):
            self.value.append(value)
        elif self.key is None:
            self.key = _key(event, value, self.value)
        else:
            self.value[self.key] = value
            self.key = None


def _build(events: Iterator[Any]) -> Any:
    stack: list[_Open] = []
    anchors: dict[str, tuple[Any, int]] = {}
    made: list[Any] = []  # the document, once it is whole
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent) and made:
            raise _Refused(event, "begins another document; one is taken")
        if isinstance(event, _OPENS):
            _refuse_tag(event)
            if len(stack) == JSON_DEPTH_MAX:
                raise _Refused(event, f"is nested deeper than {JSON_DEPTH_MAX} levels")
            stack.append(_Open(event))
            continue
        if isinstance(event, _CLOSES):
            done = stack.pop()
            event, value, nodes = done.event, done.value, done.nodes
        elif isinstance(event, yaml.ScalarEvent):
            value, nodes = _scalar(event), 1
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor not in anchors:
                raise _Refused(event, f"*{event.anchor} stands for nothing; &{event.anchor} first")
            value, nodes = anchors[event.anchor]
        else:
            continue
        if not isinstance(event, yaml.AliasEvent) and event.anchor is not None:
            anchors[event.anchor] = value, nodes
        if stack:
            stack[-1].put(event, value, nodes)
            nodes = stack[-1].nodes
        else:
            made.append(value)
        if nodes > YAML_NODES_MAX:
            raise _Refused(event, f"unfolds to more than {YAML_NODES_MAX} values")
    if not made:
        raise MalformedBody.at("", "the text is empty; send a definition")
    return made[0]


def _refuse_tag(event: Any) -> None:
    if event.tag is not None:
        raise _Refused(event, f"has the tag {event.tag[:40]}; tags are not taken")


def _key(event: Any, value: Any, known: dict[str, Any]) -> str:
    if not isinstance(value, str):
        raise _Refused(event, f"the key {str(value)[:40]} is no text; put it in quotes")
    if value == "<<" and not getattr(event, "style", None):
        raise _Refused(event, "merge keys are not taken; write the fields out")
    if value in known:
        raise _Refused(event, f"the key {value[:60]!r} stands twice in one mapping")
    return value


def _scalar(event: Any) -> Any:
    _refuse_tag(event)
    text: str = event.value
    if not event.implicit[0]:
        return text  # in quotes, or a block
    if _DOUBTFUL.fullmatch(text):
        raise _Refused(event, f"{text[:40]} is no number of JSON; put it in quotes to mean text")
    return _plain(text)


def _plain(text: str) -> Any:
    """What an unquoted text stands for."""
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text) and math.isfinite(number := float(text)):
        return number
    return text


class _Dumper(yaml.CSafeDumper):  # type: ignore[misc]
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent(dumper: Any, text: str) -> Any:
    if "\n" in text and not re.search(r"[^\S\n]\n|^\s|[^\n\x20-\x7e\xa0-\ud7ff]", text):
        style: str | None = "|"
    else:
        # The library quotes what YAML 1.1 would misread; this is what 1.2 would.
        is_clear = _plain(text) is text and not _DOUBTFUL.fullmatch(text)
        style = None if is_clear else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent)
