"""Reading the job object of POST /v1/jobs: every problem at once, with its pointer and the fix.

Written by hand rather than as a decoder: ten thousand of these make a batch, a caller wants all
mistakes in one answer, and the common job must cost a few microseconds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, get_args
from uuid import UUID

from windlass import ids
from windlass.duration import parse_seconds
from windlass.errors import FieldProblem, InvalidInput
from windlass.limits import (
    BATCH_JOBS_MAX,
    DURATION_SECONDS_MAX,
    INPUT_BYTES_MAX,
    INSTANT_CHARS_MAX,
    KEY_CHARS_MAX,
    LOCKS_MAX,
    NAME_CHARS_MAX,
    PARENTS_MAX,
    TAG_CHARS_MAX,
    TAGS_MAX,
    TIMEOUT_SECONDS_MAX,
)
from windlass.model.job.cycles import find_cycle
from windlass.model.job.draft import Draft, OnParentFailure, task_of
from windlass.model.job.limit import limits_of, read_limits
from windlass.model.job.lock import LockAsk, read_lock_ask
from windlass.model.job.retry import default_for, read_retry, to_json
from windlass.model.job.states import PRIORITY_NAMES, PRIORITY_NUMBERS
from windlass.model.job.target import target_of
from windlass.model.json import strict as strict_json
from windlass.model.json.pointer import step
from windlass.model.json.printable import is_printable

# Nobody reads more of them; a body of a million mistakes must not become a million sentences.
PROBLEMS_MAX: Final = 100

# What a kind says about its input: nothing, or problems as (pointer below /input, detail).
InputCheck = Callable[[dict[str, Any]], list[tuple[str, str]]]

_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:\-]*")
# RFC 3339; Python reads more, such as week dates. The seconds may be left out.
_INSTANT: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ]"
    r"[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
# "#3" in a batch is its fourth job.
PLACE_PATTERN: Final = "#[0-9]{1,6}"
_PLACE: Final = re.compile(PLACE_PATTERN)
ON_PARENT_FAILURE: Final[tuple[OnParentFailure, ...]] = get_args(OnParentFailure)
_NAME_ALLOWED: Final = (
    f"must be 1 to {NAME_CHARS_MAX} letters, digits and _ . : - and start with a letter or digit"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionContext:
    """What the reader must know about this installation."""

    kinds: Mapping[str, InputCheck]
    max_attempts: int = 5
    owner: str | None = None


def read_job(value: object, context: SubmissionContext, now: datetime, at: str = "") -> Draft:
    """The draft in `value`. Raises InvalidInput with every problem found."""
    problems: list[FieldProblem] = []
    draft = _read(value, context, now, at, problems)
    if draft.depends_on_places:
        problems.append(
            FieldProblem(
                pointer=f"{at}/depends_on", detail="#… names a job of a batch; this is none"
            )
        )
    if problems:
        raise InvalidInput(*problems)
    return draft


def read_batch(value: object, context: SubmissionContext, now: datetime) -> list[Draft]:
    """The drafts in `{"jobs": […]}`."""
    if not isinstance(value, dict) or not isinstance(value.get("jobs"), list):
        raise InvalidInput.at("/jobs", 'must be a list of jobs: {"jobs": [{"kind": …}, …]}')
    extra = [name for name in value if name != "jobs"]
    if extra:
        raise InvalidInput.at(step(extra[0]), "unknown field; the only one is jobs")
    jobs = value["jobs"]
    if not 1 <= len(jobs) <= BATCH_JOBS_MAX:
        raise InvalidInput.at("/jobs", f"holds {len(jobs)} jobs; a batch has 1 to {BATCH_JOBS_MAX}")
    drafts = list(read_jobs(jobs, context, now))
    check_order([draft.depends_on_places for draft in drafts])
    return drafts


def read_jobs(
    values: Iterable[object], context: SubmissionContext, now: datetime
) -> Iterator[Draft]:
    """The drafts of a batch's jobs, as they come. Raises InvalidInput at its end, or earlier when
    there are more problems than anybody would read.
    """
    problems: list[FieldProblem] = []
    for place, value in enumerate(values):
        draft = _read(value, context, now, f"/jobs/{place}", problems)
        if len(problems) >= PROBLEMS_MAX:
            break
        if not problems:
            yield draft
    if problems:
        raise InvalidInput(*problems)


def check_order(places: Sequence[Sequence[int]]) -> None:
    """Jobs of a batch may wait for one another, but not in a circle. Raises InvalidInput."""
    problems = [
        FieldProblem(
            pointer=f"/jobs/{place}/depends_on", detail=f"#{parent} is not a job of this batch"
        )
        for place, parents in enumerate(places)
        for parent in parents
        if parent >= len(places)
    ]
    if problems:
        raise InvalidInput(*problems[:PROBLEMS_MAX])
    if any(places):
        stuck = find_cycle({place: set(parents) for place, parents in enumerate(places)})
        if stuck:
            circle = ", ".join(f"#{place}" for place in stuck[:10])
            raise InvalidInput.at(
                f"/jobs/{stuck[0]}/depends_on", f"these jobs wait in a circle: {circle}"
            )


def _read(
    value: object, context: SubmissionContext, now: datetime, at: str, problems: list[FieldProblem]
) -> Draft:
    draft = Draft(kind="", owner=context.owner)

    def problem(pointer: str, detail: str) -> None:
        if len(problems) < PROBLEMS_MAX:
            problems.append(FieldProblem(pointer=at + pointer, detail=detail))

    if not isinstance(value, dict):
        problem("", 'a job is a JSON object such as {"kind": "noop"}')
        return draft
    kind = value.get("kind")
    check_input = context.kinds.get(kind) if isinstance(kind, str) else None
    if isinstance(kind, str) and check_input is not None:
        draft.kind = kind
    else:
        problem("/kind", f"must be one of: {' '.join(sorted(context.kinds))}")
    draft.max_attempts = default_for(draft.kind, context.max_attempts).max_attempts
    for name, found in value.items():
        read = _READ.get(name)
        if read is None:
            problem(step(name), f"unknown field; known are {' '.join(_READ)}")
            continue
        if found is None and name != "input":
            continue
        try:
            read(draft, found)
        except ValueError as trouble:
            problem(f"/{name}", str(trouble))
        except InvalidInput as trouble:
            for inner in trouble.problems:
                problem(f"/{name}{inner.pointer}", inner.detail)
    given = value.get("input", {})
    if check_input is not None and isinstance(given, dict):
        for pointer, detail in check_input(given):
            problem(f"/input{pointer}", detail)
        if draft.kind == "http" and isinstance(url := given.get("url"), str):
            draft.target = target_of(url)
        if draft.kind == "python":
            draft.task = task_of(given)
        if draft.limit_asks:
            try:
                limits = limits_of(draft.limit_asks, given)
                draft.limits, draft.limit_locks = limits.text, limits.locks
            except InvalidInput as trouble:
                for inner in trouble.problems:
                    problem(f"/limits{inner.pointer}", inner.detail)
    _check_key(draft, value, problem)
    _check_times(draft, value, now, problem)
    return draft


def _check_times(
    draft: Draft, value: dict[str, Any], now: datetime, problem: Callable[[str, str], None]
) -> None:
    if draft.run_at is not None:
        if draft.delay_seconds:
            problem("/delay", "give run_at or delay, not both")
        if draft.run_at > now + timedelta(seconds=DURATION_SECONDS_MAX):
            problem("/run_at", "lies more than a year ahead")
    if draft.deadline is not None:
        if draft.deadline <= now:
            problem("/deadline", "lies in the past; give an instant still to come")
        elif draft.deadline <= (draft.run_at or now + timedelta(seconds=draft.delay_seconds)):
            problem("/deadline", "lies before the job is due; it could never start")
    if value.get("on_parent_failure") is not None and not draft.has_parents:
        problem("/on_parent_failure", "has no meaning without depends_on")


def _check_key(draft: Draft, value: dict[str, Any], problem: Callable[[str, str], None]) -> None:
    for name in ("unique_for", "debounce"):
        if value.get(name) is not None and draft.key is None:
            problem(f"/{name}", "has no meaning without key")
    if draft.debounce_seconds is None:
        if value.get("debounce_max") is not None:
            problem("/debounce_max", "has no meaning without debounce")
        return
    for name in ("unique_for", "run_at", "delay", "depends_on"):
        if value.get(name) is not None:
            problem("/debounce", f"says when the job runs; give debounce or {name}, not both")
    longest = draft.debounce_max_seconds
    if longest is not None and longest < draft.debounce_seconds:
        problem("/debounce_max", "must be at least as long as debounce")


def _kind(draft: Draft, value: object) -> None:
    """Read before the others."""


def _input(draft: Draft, value: object) -> None:
    if not isinstance(value, dict):
        raise ValueError("must be an object")
    draft.input = strict_json.write(value)
    if len(draft.input.encode()) > INPUT_BYTES_MAX:
        raise ValueError(f"is larger than {INPUT_BYTES_MAX} bytes; store it and pass a reference")


def _queue(draft: Draft, value: object) -> None:
    draft.queue = read_name(value)


def _priority(draft: Draft, value: object) -> None:
    if not isinstance(value, str) or value not in PRIORITY_NUMBERS:
        raise ValueError(f"must be one of: {' '.join(PRIORITY_NAMES)}")
    draft.priority = PRIORITY_NUMBERS[value]


def _run_at(draft: Draft, value: object) -> None:
    draft.run_at = read_instant(value)


def _delay(draft: Draft, value: object) -> None:
    draft.delay_seconds = parse_seconds(value)


def _deadline(draft: Draft, value: object) -> None:
    draft.deadline = read_instant(value)


def _timeout(draft: Draft, value: object) -> None:
    seconds = parse_seconds(value, TIMEOUT_SECONDS_MAX)
    if seconds < 0.001:
        raise ValueError("must be at least a millisecond")
    draft.timeout_ms = int(seconds * 1000)


def _retry(draft: Draft, value: object) -> None:
    fallback = default_for(draft.kind, draft.max_attempts)
    policy, found = read_retry(value, fallback)
    if found:
        raise InvalidInput(*(FieldProblem(pointer=p, detail=d) for p, d in found))
    draft.max_attempts = policy.max_attempts
    # A ladder is kept by name of its kind, a policy of the caller's own in full.
    given = to_json(policy) if not policy.ladder_seconds else {"max_attempts": policy.max_attempts}
    draft.retry = strict_json.write(given)


def _depends_on(draft: Draft, value: object) -> None:
    if not isinstance(value, list) or len(value) > PARENTS_MAX:
        raise ValueError(f"must be a list of at most {PARENTS_MAX} job ids")
    parents: dict[UUID, None] = {}
    places: dict[int, None] = {}
    for place, parent in enumerate(value):
        if not isinstance(parent, str):
            raise InvalidInput.at(f"/{place}", "must be a job id")
        if _PLACE.fullmatch(parent):
            places[int(parent[1:])] = None
            continue
        try:
            parents[ids.parse("job", parent)] = None
        except ValueError as trouble:
            raise InvalidInput.at(f"/{place}", str(trouble)) from None
    draft.depends_on, draft.depends_on_places = tuple(parents), tuple(places)


def _on_parent_failure(draft: Draft, value: object) -> None:
    for choice in ON_PARENT_FAILURE:
        if value == choice:
            draft.on_parent_failure = choice
            return
    raise ValueError(f"must be one of: {' '.join(ON_PARENT_FAILURE)}")


def _tags(draft: Draft, value: object) -> None:
    draft.tags = read_tags(value)


def read_tags(value: object) -> tuple[str, ...]:
    """Raises ValueError, or InvalidInput with the pointer of a tag that is none."""
    if not isinstance(value, list) or len(value) > TAGS_MAX:
        raise ValueError(f"must be a list of at most {TAGS_MAX} texts")
    tags: dict[str, None] = {}
    for place, tag in enumerate(value):
        try:
            tags[read_text(tag, TAG_CHARS_MAX)] = None
        except ValueError as trouble:
            raise InvalidInput.at(f"/{place}", str(trouble)) from None
    return tuple(tags)


def _unique_for(draft: Draft, value: object) -> None:
    draft.unique_seconds = _some_seconds(value)


def _debounce(draft: Draft, value: object) -> None:
    draft.debounce_seconds = draft.delay_seconds = _some_seconds(value)


def _debounce_max(draft: Draft, value: object) -> None:
    draft.debounce_max_seconds = _some_seconds(value)


def _some_seconds(value: object) -> float:
    seconds = parse_seconds(value)
    if seconds < 0.001:
        raise ValueError("must be at least a millisecond")
    return seconds


def _limits(draft: Draft, value: object) -> None:
    draft.limit_asks = read_limits(value)


def _locks(draft: Draft, value: object) -> None:
    if not isinstance(value, list) or len(value) > LOCKS_MAX:
        raise ValueError(f"must be a list of at most {LOCKS_MAX} names of locks")
    asks: dict[str, LockAsk] = {}
    for place, given in enumerate(value):
        try:
            ask = read_lock_ask(given)
        except ValueError as trouble:
            raise InvalidInput.at(f"/{place}", str(trouble)) from None
        asks[ask.name] = ask
    draft.locks = tuple(asks.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmittedField:
    """One field of POST /v1/jobs, and what it means, in the words of the OpenAPI document."""

    read: Callable[[Draft, object], None]
    meaning: str
    # How long a plain text may be. None: it is something else, with a schema of its own in
    # api/jobs/schema.py.
    chars_max: int | None = None


def _text(name: str, chars_max: int, meaning: str) -> SubmittedField:
    """A text of the caller's own, kept in the draft by its name."""

    def read(draft: Draft, value: object) -> None:
        setattr(draft, name, read_text(value, chars_max))

    return SubmittedField(read=read, meaning=meaning, chars_max=chars_max)


FIELDS: Final = {
    "kind": SubmittedField(read=_kind, meaning="What sort of work it is"),
    "input": SubmittedField(read=_input, meaning="What it is given"),
    "queue": SubmittedField(read=_queue, meaning="The queue it waits in"),
    "priority": SubmittedField(
        read=_priority, meaning="Higher ones start first; waiting ones rise"
    ),
    "run_at": SubmittedField(read=_run_at, meaning="When it is due"),
    "delay": SubmittedField(read=_delay, meaning="How long from now it is due"),
    "deadline": SubmittedField(
        read=_deadline,
        meaning="It must have started by then, or it expires; null: it may take any time",
    ),
    "timeout": SubmittedField(
        read=_timeout, meaning="How long one attempt may take, in seconds or as text"
    ),
    "retry": SubmittedField(
        read=_retry,
        meaning="How often it is tried and how long it rests in between; null: as its kind does",
    ),
    "depends_on": SubmittedField(read=_depends_on, meaning="Jobs that must end first"),
    "on_parent_failure": SubmittedField(
        read=_on_parent_failure,
        meaning="What becomes of it when a job that it depends on does not succeed",
    ),
    "key": _text("key", KEY_CHARS_MAX, "Unique while the job is kept"),
    "tags": SubmittedField(read=_tags, meaning="Words to find it by"),
    "correlation_id": _text(
        "correlation_id",
        KEY_CHARS_MAX,
        "A text of the caller's that is handed on to everything that follows",
    ),
    "locks": SubmittedField(read=_locks, meaning="Locks that it takes before it starts"),
    "limits": SubmittedField(
        read=_limits, meaning="How many of a name run at once, and start a second"
    ),
    "unique_for": SubmittedField(
        read=_unique_for,
        meaning="How long the key is this job's, also after it has ended; null: while it is kept",
    ),
    "debounce": SubmittedField(
        read=_debounce,
        meaning="It runs so long after the last submission with its key, with that one's input",
    ),
    "debounce_max": SubmittedField(
        read=_debounce_max,
        meaning="It is put off no longer than this since the first one; null: for ever",
    ),
}
_READ: Final = {name: field.read for name, field in FIELDS.items()}


def read_name(value: object) -> str:
    """A name as queues have them."""
    if not isinstance(value, str) or len(value) > NAME_CHARS_MAX or not _NAME.fullmatch(value):
        raise ValueError(_NAME_ALLOWED)
    return value


def read_text(value: object, chars_max: int) -> str:
    """Printable text of 1 to `chars_max` characters."""
    if not isinstance(value, str) or not 1 <= len(value) <= chars_max or not is_printable(value):
        raise ValueError(f"must be 1 to {chars_max} printable characters")
    return value


def read_instant(value: object) -> datetime:
    """An RFC 3339 instant with its offset.

    None before 1970: nothing of ours is older, and arithmetic near year 1 leaves the calendar.
    """
    if isinstance(value, str) and len(value) <= INSTANT_CHARS_MAX and _INSTANT.fullmatch(value):
        try:
            instant = datetime.fromisoformat(value.upper())  # a small z is one too
            if instant.tzinfo is not None and instant >= _EPOCH:
                return instant.astimezone(UTC)
        except (ValueError, OverflowError):
            pass
    raise ValueError('must be an instant with its offset, such as "2030-01-31T12:00:00Z"')
