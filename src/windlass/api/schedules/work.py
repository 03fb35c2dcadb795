"""What a schedule does at each instant: submit a job, or start a workflow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

from windlass.api.http.body import fields_of
from windlass.clock import wall
from windlass.engine.executions.start import Start, prepare
from windlass.engine.schedules.schedule import ScheduleDraft
from windlass.errors import FieldProblem, InvalidInput, NotFound
from windlass.limits import INPUT_BYTES_MAX
from windlass.model.job.submission import SubmissionContext, read_job, read_name
from windlass.model.json import strict as strict_json
from windlass.model.json.whole import read_whole
from windlass.model.schedule.placeholder import INSTANT, fill, strange_word
from windlass.store.database import Database

VERSION_MAX: Final = 2**31 - 1
# A job is made at each instant: what names one instant or one other job cannot be meant.
ONCE: Final = {
    "run_at": "each firing is due at its own instant; use delay for a while after it",
    "deadline": "it would be the same for every firing; use catchup for instants long missed",
    "debounce": "the schedule says when it runs",
    "debounce_max": "has no meaning without debounce",
    "depends_on": "it would be the same for every firing; use overlap, or a workflow",
    "on_parent_failure": "has no meaning without depends_on",
}


def check_job(value: object, context: SubmissionContext, now: datetime) -> None:
    """As POST /v1/jobs judges it. Raises InvalidInput."""
    wrong: list[FieldProblem] = []
    if isinstance(value, Mapping):
        wrong = [
            FieldProblem(pointer=f"/{field}", detail=why)
            for field, why in ONCE.items()
            if value.get(field) is not None
        ]
        value = {field: found for field, found in value.items() if field not in ONCE}
    try:
        read_job(value, context, now)
        wrong += _strange_words(strict_json.write(value), "")
    except InvalidInput as trouble:
        wrong += trouble.problems
    if wrong:
        raise InvalidInput(*wrong)


def read_workflow(value: object) -> str:
    """`"name"`, or `{"name", "version", "input"}`; kept as the latter."""
    if isinstance(value, str):
        value = {"name": value}
    if not isinstance(value, Mapping):
        raise ValueError('must be a name, or an object such as {"name": "greet", "input": {}}')
    given = fields_of(value, _WORKFLOW)
    if "name" not in given:
        raise InvalidInput.at("/name", "say which workflow")
    kept = {"name": given["name"], "version": given.get("version"), "input": given.get("input", {})}
    return strict_json.write(kept)


async def check_workflow(database: Database, draft: ScheduleDraft) -> None:
    """It is there and takes the input. Raises InvalidInput."""
    if draft.workflow is None:
        return
    if wrong := _strange_words(draft.workflow, "/workflow"):
        raise InvalidInput(*wrong)
    asked = strict_json.parse(fill(draft.workflow, wall()).encode())
    start = Start(workflow=asked["name"], version=asked["version"], input=asked["input"])
    [found] = await prepare(database.run, [start])
    if isinstance(found, NotFound):
        at = "/workflow/name" if start.version is None else "/workflow/version"
        raise InvalidInput.at(at, f"{found}; publish it first")
    if isinstance(found, InvalidInput):
        raise InvalidInput(
            *(
                FieldProblem(pointer=f"/workflow{inner.pointer}", detail=inner.detail)
                for inner in found.problems
            )
        )


def _strange_words(text: str, pointer: str) -> list[FieldProblem]:
    word = strange_word(text)
    if word is None:
        return []
    return [FieldProblem(pointer=pointer, detail=f"{word} is unknown; there is {INSTANT}")]


def _version(value: object) -> int:
    return read_whole(value, VERSION_MAX)


def _input(value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("must be an object")
    if len(strict_json.write(value).encode()) > INPUT_BYTES_MAX:
        raise ValueError(f"is larger than {INPUT_BYTES_MAX} bytes; store it and pass a reference")
    return value


_WORKFLOW: Final[dict[str, Callable[[object], Any]]] = {
    "name": read_name,
    "version": _version,
    "input": _input,
}
