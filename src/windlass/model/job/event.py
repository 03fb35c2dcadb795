"""The event log (history) of a job, with stable names and ids that sort; cursors of its stream.

The ordinary events are columns of the job's row and of its attempts; whatever is out of the
ordinary has a row of its own. `events_of` puts the three together. An event's id holds its sort key
(instant, job, rank, number), so ids sort as events happened and a reader can go on from one; it is
the same wherever the event is stored at the moment: a replay moves an end from columns to a row.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple
from uuid import UUID

from windlass.model.json.strict import read_stored
from windlass.model.row import Row

# Orders events of one instant as they must have happened.
RANKS: Final[dict[str, int]] = {
    "created": 0,
    "unblocked": 1,
    "promoted": 2,
    "debounced": 2,
    "started": 3,
    "cancel_requested": 4,
    "released": 5,
    "retried": 6,
    "snoozed": 6,
    "rescued": 6,
    "finished": 7,
    "replayed": 8,
}
OTHER_RANK: Final = 9
_RANKS_OF_EXECUTION: Final = {name: RANKS[name] for name in ("created", "finished")}
# Numbered by their attempt; the others by the number of their row.
_BY_ATTEMPT: Final = frozenset({"started", "retried", "snoozed", "rescued", "finished"})
_INSTANTS: Final = ("run_at", "from_run_at", "claimed_at")
_PREFIX: Final = "evt_"
_NOBODY: Final = UUID(int=0)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
# Hex digits of instant (µs), job, rank and number.
_DIGITS: Final = (14, 32, 1, 11)
assert 16 ** _DIGITS[0] / 1e6 < 7_000 * 365 * 86400, "no id names an instant beyond the calendar"
EVENT_ID_PATTERN: Final = f"{_PREFIX}[0-9a-f]{{{sum(_DIGITS)}}}"
_ID: Final = re.compile(EVENT_ID_PATTERN)
_INSTANT: Final = re.compile(f"[0-9a-f]{{{_DIGITS[0]}}}")
# Of an event's id, or of what the stream gives (see Position).
POSITION_PATTERN: Final = rf"{EVENT_ID_PATTERN}(\.{_INSTANT.pattern})?"


class SortKey(NamedTuple):
    """Where an event stands among all events."""

    at: datetime
    job_id: UUID  # or the execution's; zero for events of queues and nodes
    rank: int
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One thing that happened."""

    at: datetime
    type: str
    number: int = 0
    noun: str = "job"
    subject: str = ""
    job_id: UUID | None = None
    execution_id: UUID | None = None  # whose step the job is, or whose event it is
    queue: str | None = None
    name: str | None = None  # of the task, host, kind or workflow that it is about
    data: dict[str, Any] = field(default_factory=dict)

    @property
    def rank(self) -> int:
        ranks = RANKS if self.noun == "job" else _RANKS_OF_EXECUTION
        is_ranked = self.noun in ("job", "execution")
        return ranks.get(self.type, OTHER_RANK) if is_ranked else OTHER_RANK

    @property
    def sort_key(self) -> SortKey:
        return SortKey(self.at, self.job_id or self.execution_id or _NOBODY, self.rank, self.number)

    @property
    def id(self) -> str:
        return show_event_id(self.sort_key)


class Position(NamedTuple):
    """Where a reader of the stream stands: the event it saw last, and the instant before which
    nothing could appear any more at that time (see engine.jobs.tail).
    """

    sort_key: SortKey
    settled_at: datetime

    @property
    def text(self) -> str:
        return f"{show_event_id(self.sort_key)}.{_micros(self.settled_at):014x}"


def parse_position(text: str) -> Position:
    """From what the stream gave, or from an event's id alone. Raises ValueError."""
    event_id, _, instant = text.partition(".")
    key = parse_event_id(event_id)
    if not instant:
        return Position(key, key.at)
    if not _INSTANT.fullmatch(instant):
        raise ValueError(f"{instant!r} is not the instant of a position in the stream")
    return Position(key, min(key.at, _EPOCH + timedelta(microseconds=int(instant, 16))))


def _micros(instant: datetime) -> int:
    return (instant - _EPOCH) // timedelta(microseconds=1)


def show_event_id(key: SortKey) -> str:
    return f"{_PREFIX}{_micros(key.at):014x}{key.job_id.hex}{key.rank:x}{key.number:011x}"


def parse_event_id(text: str) -> SortKey:
    """The sort key inside an event id. Raises ValueError that says what such an id looks like."""
    if not _ID.fullmatch(text):
        shown = text if len(text) <= 60 else text[:60] + "…"
        raise ValueError(
            f"{shown!r} is not an event id; one looks like {_PREFIX}<{sum(_DIGITS)} hex digits>"
        )
    digits = text.removeprefix(_PREFIX)
    at, job, rank, number = (
        digits[sum(_DIGITS[:n]) : sum(_DIGITS[: n + 1])] for n in range(len(_DIGITS))
    )
    instant = _EPOCH + timedelta(microseconds=int(at, 16))
    return SortKey(instant, UUID(hex=job), int(rank, 16), int(number, 16))


def events_of(job: Row, attempts: Iterable[Row], rows: Iterable[Row]) -> list[Event]:
    """All that happened to `job`, in order: from its row, its attempts and its event rows."""
    own_rows = [event_of_row(row) for row in rows]
    events = [event for attempt in attempts for event in _of_attempt(job, attempt)]
    events += [_claim_of(event) for event in own_rows if event.type == "released"]
    events += [*own_rows, *_of_job(job)]
    events.sort(key=lambda event: event.sort_key)
    return [_created(job, events), *events]


def event_of_row(row: Row) -> Event:
    """From a row of the `event` table (also with noun, subject and queue, where asked for)."""
    data = read_stored(row["data"])
    for name in _INSTANTS:
        if isinstance(data.get(name), str):
            data[name] = datetime.fromisoformat(data[name])
    by_attempt = row["type"] in _BY_ATTEMPT and "attempt" in data
    return Event(
        at=row["at"],
        type=row["type"],
        number=data["attempt"] if by_attempt else row["seq"],
        job_id=row["job_id"],
        subject=row["job_id"].hex if row["job_id"] else "",
        data=data,
    )


def _of_attempt(job: Row, attempt: Row) -> list[Event]:
    events = [_started(job, attempt["started_at"], attempt["attempt"], attempt["node_id"])]
    # Without a next time the attempt ended its job; a `finished` row tells of that.
    if attempt["next_run_at"] is not None:
        data = {
            "attempt": attempt["attempt"],
            "outcome": attempt["outcome"],
            "run_at": attempt["next_run_at"],
            "from_run_at": attempt["due_at"],
            "error": read_stored(attempt["error"]) if attempt["error"] else None,
        }
        kind = {"snoozed": "snoozed", "lost": "rescued"}.get(attempt["outcome"], "retried")
        events.append(_event(job, attempt["ended_at"], kind, attempt["attempt"], data))
    return events


def _of_job(job: Row) -> list[Event]:
    events = []
    if job["state"] == "running" or (job["finished_at"] is not None and job["outcome"] is not None):
        events.append(_started(job, job["started_at"], job["attempt"], job["node_id"]))
    if job["finished_at"] is not None:
        data = {
            "state": job["state"],
            "outcome": job["outcome"],
            "attempt": job["attempt"],
            "cause": job["cause"],
            "error": read_stored(job["error"]) if job["error"] else None,
        }
        events.append(_event(job, job["finished_at"], "finished", job["attempt"], data))
    return events


def _created(job: Row, later: list[Event]) -> Event:
    """The row forgets when the job was first due; the event that changed it remembers."""
    first = next((event for event in later if "run_at" in event.data), None)
    data = {
        "state": "blocked" if job["was_blocked"] else "queued",
        "run_at": job["run_at"] if first is None else first.data.get("from_run_at"),
    }
    return _event(job, job["created_at"], "created", 0, data)


def _claim_of(released: Event) -> Event:
    """A claim that was handed back did start once."""
    return Event(
        at=released.data["claimed_at"],
        type="started",
        number=released.data["attempt"],
        job_id=released.job_id,
        subject=released.subject,
        data={"attempt": released.data["attempt"], "node_id": released.data.get("node_id")},
    )


def _started(job: Row, at: datetime, attempt: int, node_id: UUID | None) -> Event:
    data = {"attempt": attempt, "node_id": str(node_id) if node_id else None}
    return _event(job, at, "started", attempt, data)


def _event(job: Row, at: datetime, kind: str, number: int, data: dict[str, Any]) -> Event:
    return Event(
        at=at, type=kind, number=number, job_id=job["id"], subject=job["id"].hex, data=data
    )
