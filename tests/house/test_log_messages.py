"""Every log line at info and above has a sentence that a stranger understands."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.house.repository import ROOT
from windlass.telemetry.messages import FIELDS, MESSAGES

SOURCE = ROOT / "src" / "windlass"
LEVELS = frozenset({"info", "warning", "error", "exception", "critical"})
# Words of how a node is built, which say nothing to who runs one.
INTERNAL = (
    *("lane", "fence", "follower", "mark", "marks", "duty", "duties", "incarnation", "settlement"),
    *("settle", "settled", "tending", "shard", "shards", "seat", "tenure", "net", "upkeep", "heed"),
    *("claim", "claims", "claimed", "coordinator", "conclude", "conclusion", "parked", "buffer"),
    *("finisher", "rebirth", "fan_out", "trip", "tripped", "stray", "strays", "note", "notes"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    where: str
    event: str
    fields: frozenset[str]
    is_open: bool  # it has more fields than its call names


def said_in(path: Path, text: str) -> Iterator[Said | str]:
    """Each call at info and above; as text, one whose event nobody can read."""
    for call in ast.walk(ast.parse(text)):
        if not (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and call.func.attr in LEVELS
            and isinstance(call.func.value, ast.Name)
            and call.func.value.id in ("log", "logger")
        ):
            continue
        where = f"{path}:{call.lineno}"
        event = call.args[0] if call.args else None
        if not isinstance(event, ast.Constant) or not isinstance(event.value, str):
            yield f"{where}: the event of a log line is a name, written out"
            continue
        yield Said(
            where=where,
            event=event.value,
            fields=frozenset(k.arg for k in call.keywords if k.arg is not None),
            is_open=any(k.arg is None for k in call.keywords),
        )


def every_line() -> list[Said]:
    found = [
        said
        for path in sorted(SOURCE.rglob("*.py"))
        for said in said_in(path.relative_to(SOURCE), path.read_text())
    ]
    assert [said for said in found if isinstance(said, str)] == []
    return [said for said in found if isinstance(said, Said)]


def test_every_event_at_info_and_above_has_a_sentence() -> None:
    assert [f"{s.where}: {s.event}" for s in every_line() if s.event not in MESSAGES] == []


def test_no_sentence_is_left_of_an_event_that_nobody_says() -> None:
    assert set(MESSAGES) - {said.event for said in every_line()} == set()


def test_every_call_gives_what_its_sentence_tells() -> None:
    assert [
        f"{said.where}: {said.event} lacks {', '.join(sorted(missing))}"
        for said in every_line()
        if not said.is_open and (missing := FIELDS[said.event] - said.fields)
    ] == []


def test_sentences_use_no_word_of_how_a_node_is_built() -> None:
    words = re.compile(r"\b(" + "|".join(INTERNAL) + r")\b", re.IGNORECASE)
    told = {event: re.sub(r"\{[^}]*\}", "", sentence) for event, sentence in MESSAGES.items()}
    assert {e: found for e, text in told.items() if (found := words.findall(text))} == {}


def test_a_call_whose_event_is_no_name_is_named() -> None:
    text = "log.info('up' if up else 'down')\nlog.debug(f'{x}')\nlog.error('known', a=1, **more)\n"
    computed, known = said_in(Path("a.py"), text)
    assert computed == "a.py:1: the event of a log line is a name, written out"
    assert known == Said(where="a.py:3", event="known", fields=frozenset({"a"}), is_open=True)
