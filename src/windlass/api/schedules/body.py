"""A schedule as a caller sends it: every mistake at once, each with its pointer and the fix.

What it says about time is judged by the model (`read_rule`), what it does by api.schedules.work.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, get_args

from windlass.api.schedules.filter import read_source
from windlass.api.schedules.work import check_job, read_workflow
from windlass.duration import parse_seconds
from windlass.engine.schedules.schedule import Schedule, ScheduleDraft
from windlass.errors import FieldProblem, InvalidInput
from windlass.ids import PREFIXES
from windlass.model.job.states import PRIORITY_NAMES, PRIORITY_NUMBERS
from windlass.model.job.submission import SubmissionContext, read_name, read_tags
from windlass.model.json import strict as strict_json
from windlass.model.json.pointer import step
from windlass.model.schedule.decision import Misfire, Overlap
from windlass.model.schedule.read import RULE_FIELDS, WHEN, read_rule

# Paths of the API that would stand in their way.
RESERVED: Final = frozenset(("pause", "resume", "preview"))
# It does one of these, and not both.
WHAT: Final = ("job", "workflow")
OVERLAPS: Final[tuple[Overlap, ...]] = get_args(Overlap)
MISFIRES: Final[tuple[Misfire, ...]] = get_args(Misfire)


def read_schedule_name(value: object) -> str:
    """Raises ValueError."""
    name = read_name(value)
    if name in RESERVED:
        raise ValueError(f"{name!r} is a word of the API; take another name")
    if name.startswith(PREFIXES["schedule"]):
        raise ValueError(f"must not begin as ids do, with {PREFIXES['schedule']}")
    return name


def read_body(
    value: object, context: SubmissionContext, now: datetime, name: str | None
) -> ScheduleDraft:
    """The draft. `name` is that of the path, None: the body has it. Raises InvalidInput."""
    if not isinstance(value, Mapping):
        raise InvalidInput.at("", 'a schedule is an object: {"name": …, "cron": …, "job": {…}}')
    problems: list[FieldProblem] = []
    given: dict[str, Any] = {}
    rule = {field: value[field] for field in RULE_FIELDS if value.get(field) is not None}
    for field, found in value.items():
        if field in RULE_FIELDS or found is None:
            continue
        if field not in _READERS:
            known = " ".join((*_READERS, *RULE_FIELDS))
            detail = f"unknown field; known are {known}"
            problems.append(FieldProblem(pointer=step(field), detail=detail))
            continue
        attribute, read = _READERS[field]
        with_it = _collected(problems, f"/{field}", read, found)
        if with_it is not None:
            given[attribute] = with_it
    problems += _named(value, given, name) + _does_one(value)
    called = name or given.pop("name", "unnamed")
    given.pop("name", None)
    _collected(problems, "", lambda found: read_rule(found, name=called, now=now), rule)
    if value.get("job") is not None:
        _collected(problems, "/job", lambda job: check_job(job, context, now), value["job"])
    if problems:
        raise InvalidInput(*problems)
    return ScheduleDraft(
        name=called, rule_json=strict_json.write(rule), owner=context.owner, **given
    )


def body_of(schedule: Schedule) -> dict[str, Any]:
    """The schedule as it could be sent again."""
    body: dict[str, Any] = strict_json.parse(schedule.rule_json.encode())
    for field, text in (("job", schedule.job), ("workflow", schedule.workflow)):
        if text is not None:
            body[field] = strict_json.parse(text.encode())
    return body | {
        "overlap": schedule.overlap,
        "misfire": schedule.misfire,
        "catchup": schedule.catchup_seconds,
        "priority": None if schedule.priority is None else PRIORITY_NAMES[schedule.priority],
        "tags": list(schedule.tags),
        "source": schedule.source,
    }


def patched(schedule: Schedule, patch: object) -> dict[str, Any]:
    """The schedule with some fields changed; one whose value is null is as if never given."""
    if not isinstance(patch, Mapping):
        raise InvalidInput.at("", "must be an object with the fields to change")
    body = body_of(schedule)
    # Another rule replaces the one there was, and so does another thing to do.
    for fields in (WHEN, WHAT):
        if any(patch.get(field) is not None for field in fields):
            body = {field: value for field, value in body.items() if field not in fields}
    return {**body, **patch}


def _named(
    value: Mapping[str, Any], given: Mapping[str, Any], name: str | None
) -> list[FieldProblem]:
    if name is None and value.get("name") is None:
        return [FieldProblem(pointer="/name", detail="say what it is called")]
    if name is not None and given.get("name", name) != name:
        detail = f"is another name than that of the path, {name}; a schedule keeps its name"
        return [FieldProblem(pointer="/name", detail=detail)]
    return []


def _does_one(value: Mapping[str, Any]) -> list[FieldProblem]:
    there = [field for field in WHAT if value.get(field) is not None]
    if len(there) == 2:
        return [FieldProblem(pointer="/workflow", detail="give job or workflow, not both")]
    if not there:
        detail = 'say what to do: a job, such as {"kind": "noop"}, or a workflow by its name'
        return [FieldProblem(pointer="/job", detail=detail)]
    return []


def _collected(
    problems: list[FieldProblem], at: str, read: Callable[[Any], Any], value: object
) -> Any:
    """What was read; None: it was not, and the problems say why."""
    try:
        return read(value)
    except InvalidInput as trouble:
        problems += [
            FieldProblem(pointer=f"{at}{inner.pointer}", detail=inner.detail)
            for inner in trouble.problems
        ]
    except ValueError as trouble:
        problems.append(FieldProblem(pointer=at, detail=str(trouble)))
    return None


def _choice(choices: Sequence[str]) -> Callable[[object], str]:
    def read(value: object) -> str:
        if not isinstance(value, str) or value not in choices:
            raise ValueError(f"must be one of: {' '.join(choices)}")
        return value

    return read


def _priority(value: object) -> int:
    if not isinstance(value, str) or value not in PRIORITY_NUMBERS:
        raise ValueError(f"must be one of: {' '.join(PRIORITY_NAMES)}")
    return PRIORITY_NUMBERS[value]


# By field: where the draft has it, and what reads it. What is wrong with a job, check_job says.
_READERS: Final[dict[str, tuple[str, Callable[[object], Any]]]] = {
    "name": ("name", read_schedule_name),
    "job": ("job", strict_json.write),
    "workflow": ("workflow", read_workflow),
    "overlap": ("overlap", _choice(OVERLAPS)),
    "misfire": ("misfire", _choice(MISFIRES)),
    "catchup": ("catchup_seconds", parse_seconds),
    "priority": ("priority", _priority),
    "tags": ("tags", read_tags),
    "source": ("source", read_source),
}
