"""What became of each line of another scheduler's: kept exactly, differs and how, or why not."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from windlass.cli.show.output import show_line
from windlass.limits import NAME_CHARS_MAX

Verdict = Literal["exact", "differs", "setting", "refused"]
VERDICTS: Final[dict[Verdict, str]] = {
    "exact": "kept exactly",
    "differs": "differs",
    "setting": "a setting",
    "refused": "not importable",
}
# In a sum.
_COUNTED: Final = VERDICTS | {"differs": "with differences", "setting": "of settings"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Parity:
    where: str  # where it stood: "line 3", or its name
    text: str  # what stood there
    verdict: Verdict
    notes: tuple[str, ...] = ()  # how it differs, or why it cannot be
    name: str | None = None  # of the schedule; None: it makes none
    body: dict[str, Any] | None = None  # of PUT /v1/schedules/{name}
    outcome: str | None = None  # of sending it; None: it was not sent

    def shown(self) -> dict[str, Any]:
        return {
            "place": self.where,
            "text": self.text,
            "verdict": self.verdict,
            "notes": list(self.notes),
            "name": self.name,
            "schedule": self.body,
            "outcome": self.outcome,
        }

    def refused(self, why: str) -> Parity:
        return replace(self, verdict="refused", notes=(*self.notes, why), outcome="refused")


def verdict_of(notes: Sequence[str]) -> Verdict:
    return "differs" if notes else "exact"


def counts(found: Sequence[Parity]) -> dict[str, int]:
    counted = Counter(line.verdict for line in found)
    return {verdict: counted[verdict] for verdict in VERDICTS}


def show_report(found: Sequence[Parity]) -> None:
    for line in found:
        outcome = f", {line.outcome}" if line.outcome and line.verdict != "refused" else ""
        name = f" -> {line.name}{outcome}" if line.name and line.verdict != "refused" else ""
        show_line(f"{line.where}: {VERDICTS[line.verdict]}{name}")
        show_line(f"    {line.text}")
        for note in line.notes:
            show_line(f"    - {note}")
    said = [
        f"{count} {_COUNTED.get(verdict, VERDICTS[verdict])}" for verdict, count in _some(found)
    ]
    show_line(", ".join(said) or "there is nothing to import")


def _some(found: Sequence[Parity]) -> list[tuple[Verdict, int]]:
    by_verdict = counts(found)
    return [(verdict, by_verdict[verdict]) for verdict in VERDICTS if by_verdict[verdict]]


class Names:
    """A name for each, made of words; the same words once more get a number."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._given: Counter[str] = Counter()

    def of(self, words: str) -> str:
        slug = re.sub(r"[^A-Za-z0-9_.-]+", "-", words).strip("-.") or "unnamed"
        name = f"{self._prefix}{slug}"[: NAME_CHARS_MAX - 5].strip("-.:")
        self._given[name] += 1
        return name if self._given[name] == 1 else f"{name}-{self._given[name]}"
