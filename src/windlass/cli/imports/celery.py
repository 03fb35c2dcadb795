"""Celery's beat entries as schedules.

Celery's crontab wants the day of month and the day of week to agree, where cron is content with
either; beat makes up for what it missed once; a period counts from the last run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from windlass.cli.imports.celery_source import BeatFile, Crontab, Moved, Period, Strange
from windlass.cli.imports.report import Names, Parity, verdict_of
from windlass.errors import InvalidInput
from windlass.model.schedule.cron import read_cron

_ORDER: Final = ("minute", "hour", "day_of_month", "month_of_year", "day_of_week")
# The one task of the bridge (windlass.sdk.bridges.celery, which needs Celery to be imported).
BRIDGE_TASK: Final = "celery.task"
# Options that the bridge has its own words for.
_OF_BRIDGE: Final = (
    *("priority", "time_limit", "soft_time_limit", "headers", "shadow", "ignore_result"),
    "serializer",
)
_BY_BRIDGE: Final = ("input", "retry", "timeout", "priority", "tags")
# Options without which it would be something else.
_REFUSED: Final = ("link", "link_error", "chain", "chord")
_KNOWN: Final = frozenset(("task", "schedule", "args", "kwargs", "options", "relative"))


class CeleryImport:
    def __init__(
        self,
        *,
        zone: str,
        prefix: str,
        kind: str = "python",
        moved: Moved | None = None,  # what nodes of the bridge take; None: nodes know the tasks
        app: Any = None,  # Celery's, which knows its routes; None: only options say a queue
    ) -> None:
        self._zone, self._kind = zone, kind
        self._names = Names(prefix)
        self._moved, self._app = moved, app
        # The bridge itself, where it was made by what was imported; None: it is only said to be.
        self._bridge: Any = getattr(app, "windlass", None)

    def entries(self, beat: BeatFile) -> Iterator[Parity]:
        for name, entry in beat.entries.items():
            yield self._entry(name, entry)
        for name, why in beat.problems.items():
            yield Parity(where=name, text=why, verdict="refused", notes=(why,))

    def _entry(self, where: str, entry: Any) -> Parity:
        name = self._names.of(where)
        if not isinstance(entry, Mapping) or not isinstance(entry.get("task"), str):
            why = "an entry is a dictionary with a task and a schedule"
            return Parity(where=where, text=str(entry)[:200], verdict="refused", notes=(why,))
        schedule = entry["schedule"]
        found = Parity(
            where=where, text=f"{entry['task']}: {_told(schedule)}", verdict="exact", name=name
        )
        notes: list[str] = []
        try:
            rule = self._rule(schedule, name, notes)
            job = self._job(entry, notes)
        except InvalidInput as trouble:
            return found.refused("; ".join(problem.detail for problem in trouble.problems))
        except (ValueError, TypeError) as trouble:
            return found.refused(str(trouble))
        body = {
            **rule,
            "timezone": self._zone,
            "job": job,
            "overlap": "allow",
            "misfire": "fire_once",
            "source": "import",
        }
        return Parity(
            where=where,
            text=found.text,
            verdict=verdict_of(notes),
            notes=tuple(notes),
            name=name,
            body=body,
        )

    def _rule(self, schedule: object, name: str, notes: list[str]) -> dict[str, Any]:
        match schedule:
            case Crontab():
                return {"cron": _cron(schedule, name)}
            case Period():
                if schedule.is_relative:
                    notes.append("relative: it is not rounded; give starts_at for a round start")
                else:
                    notes.append("counted from a fixed start, where beat counts from the last run")
                return {"every": schedule.seconds}
            case Strange(text=text) if text.startswith("solar"):
                raise ValueError(
                    f"{text} follows the sun, for which there is no rule: leave it to beat, or "
                    "write a crontab"
                )
            case Strange():
                raise ValueError(f"{schedule.text} is neither a crontab nor a period")
            case _:
                raise ValueError("it has no schedule")

    def _job(self, entry: Mapping[str, Any], notes: list[str]) -> dict[str, Any]:
        given = {"args": list(entry.get("args") or ()), "kwargs": dict(entry.get("kwargs") or {})}
        if self._bridge is None:
            # What is no JSON could not be sent: TypeError says what.
            json.dumps(given)
        job: dict[str, Any] = {
            "kind": self._kind,
            "input": {"task": entry["task"], **{name: v for name, v in given.items() if v}},
        }
        notes += [f"{name} is not known here and left out" for name in entry.keys() - _KNOWN]
        for name, value in dict(entry.get("options") or {}).items():
            if name == "queue" and isinstance(value, str):
                job["queue"] = value
            elif name == "countdown" and isinstance(value, int | float):
                job["delay"] = value
            elif name == "expires":
                notes.append(
                    "expires is left out: a job of a schedule has no deadline; see catchup"
                )
            elif name in _OF_BRIDGE and self._bridge is not None:
                continue
            elif name in _REFUSED and value:
                raise ValueError(
                    f"its option {name} has no place in a schedule, which makes one job: call that "
                    "task from this one, or leave it to beat"
                )
            elif name == "priority":
                notes.append("priority is left out: brokers count it differently; set it by name")
            else:
                notes.append(f"option {name} is about a broker and left out")
        if self._app is not None:
            job["queue"] = _queue_of(self._app, entry)
        if self._moved is not None:
            job |= self._said_by_bridge(entry, notes)
            self._move(job, given, self._moved, notes)
        return job

    def _said_by_bridge(self, entry: Mapping[str, Any], notes: list[str]) -> dict[str, Any]:
        """What the bridge says of a call of this task beside its arguments and its queue."""
        if self._bridge is None:
            notes.append(
                "tried as often and for as long as any job: give module:app for what its task says"
            )
            return {}
        task = self._app.tasks.get(entry["task"])
        of_task = {} if task is None else task._get_exec_options()
        options = {**of_task, **(entry.get("options") or {})}
        if of_task.get("expires") is not None:
            notes.append("expires of its task is left out: a job of a schedule has no deadline")
        asked = {name: options[name] for name in _OF_BRIDGE if options.get(name) is not None}
        is_ignored = options.get("ignore_result", getattr(task, "ignore_result", False))
        said = self._bridge.job_of(
            entry["task"],
            entry.get("args"),
            entry.get("kwargs"),
            {"queue": None, **asked},
            **({"ignore_result": True} if is_ignored else {}),
        )
        return {name: said[name] for name in _BY_BRIDGE if name in said}

    def _move(
        self, job: dict[str, Any], given: dict[str, Any], moved: Moved, notes: list[str]
    ) -> None:
        """Let it be a job that nodes of the bridge perform, in the queue that Celery would use."""
        if "queue" not in job:
            job["queue"] = moved.default_queue
            notes.append(
                f"to {moved.default_queue!r}, Celery's default queue; give module:app instead of a "
                "file for what its routes say"
            )
        if moved.queues is not None and job["queue"] not in moved.queues:
            raise ValueError(
                f"its queue {job['queue']!r} is still with Celery: leave it to beat, or move that "
                "queue too"
            )
        if self._bridge is None:
            call = [job["input"]["task"], given["args"], given["kwargs"]]
            job["input"] = {"task": BRIDGE_TASK, "args": [*call, {"takes": "none", "retries": 0}]}


def _queue_of(app: Any, entry: Mapping[str, Any]) -> str:
    """Where Celery itself would send it."""
    task = app.tasks.get(entry["task"])
    own = getattr(task, "queue", None)
    options = {**({"queue": own} if own else {}), **(entry.get("options") or {})}
    args, kwargs = entry.get("args") or (), entry.get("kwargs") or {}
    routed = app.amqp.router.route(options, entry["task"], args, kwargs, task)
    queue = routed.get("queue") or app.conf.task_default_queue
    return str(getattr(queue, "name", queue))


def _cron(crontab: Crontab, name: str) -> str:
    text = " ".join(crontab.fields[field].replace(" ", "") for field in _ORDER)
    cron = read_cron(text, name)
    if cron.is_silent:
        raise ValueError("there is no such day: it never ran")
    # Fields that begin with a star must agree in cron as well.
    if not (cron.day.is_star or cron.weekday.is_star):
        raise ValueError(
            "Celery wants both day_of_month and day_of_week, a cron rule is content with either; "
            "write 1#1 for the first Monday of a month, or make two schedules"
        )
    return text


def _told(schedule: object) -> str:
    match schedule:
        case Crontab():
            return "crontab " + " ".join(schedule.fields[field] for field in _ORDER)
        case Period():
            return f"every {schedule.seconds:g} s"
        case Strange():
            return schedule.text
        case _:
            return "nothing"
