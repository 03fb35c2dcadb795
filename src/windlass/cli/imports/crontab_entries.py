"""A crontab as schedules: the same instants where that is possible, and where not, what differs.

cron runs nothing that it missed, lets runs overlap, and where clocks change treats a line that
begins a field of minutes or hours with a star by the clock on the wall: in a gap it is left out, in
an overlap it runs twice. Other lines run once, right after a gap or in the first of two hours. All
of this can be said of a schedule, and is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from windlass.cli.imports.crontab import DELAY, MAIL, ZONE, Entry, Setting, Unreadable, read_crontab
from windlass.cli.imports.job import JobMaker, environment
from windlass.cli.imports.report import Names, Parity, verdict_of
from windlass.errors import InvalidInput
from windlass.model.schedule.cron import Cron, read_cron
from windlass.model.schedule.zone import read_zone

_BY_THE_CLOCK: Final = {"gap": "skip", "overlap": "both"}
_RANDOM: Final = re.compile(r"([0-9]*)~([0-9]*)")
_HIGH: Final = ("59", "23", "31", "12", "6")
_LOW: Final = ("0", "0", "1", "1", "0")


class CrontabImport:
    def __init__(
        self, jobs: JobMaker, *, zone: str, misfire: str, prefix: str, has_users: bool
    ) -> None:
        self._jobs, self._zone, self._misfire = jobs, zone, misfire
        self._has_users = has_users
        self._names = Names(prefix)

    def lines(self, text: str) -> Iterator[Parity]:
        for line in read_crontab(text, has_users=self._has_users):
            where = f"line {line.number}"
            match line:
                case Entry():
                    yield self._entry(where, line)
                case Setting():
                    note = _about(line.name)
                    yield Parity(where=where, text=line.text, verdict="setting", notes=(note,))
                case Unreadable():
                    yield Parity(where=where, text=line.text, verdict="refused", notes=(line.why,))

    def _entry(self, where: str, entry: Entry) -> Parity:
        name = self._names.of(entry.command.split(None, 1)[0].rpartition("/")[2])
        found = Parity(where=where, text=entry.text, verdict="exact", name=name)
        notes: list[str] = []
        try:
            text = _spread(entry.cron, notes)
            cron = read_cron(text, name)
            zone = read_zone(entry.settings.get(ZONE) or self._zone)
        except InvalidInput as trouble:
            return found.refused("; ".join(problem.detail for problem in trouble.problems))
        except ValueError as trouble:
            return found.refused(f"{ZONE} {trouble}")
        if cron.is_silent:
            return found.refused("there is no such day: it never ran")
        body: dict[str, Any] = {
            "cron": text,
            "timezone": zone,
            "job": self._jobs.job(entry),
            "overlap": "allow",
            "misfire": self._misfire,
            "source": "import",
        }
        if self._misfire != "skip":
            notes.append(f"what is missed is made up for ({self._misfire}); cron would not")
        _clocks(body, cron, notes)
        _jitter(body, entry, notes)
        notes += _about_command(entry)
        if not self._jobs.is_told:
            notes.append("say which job does it: --as python:TASK, --as http:URL or --template")
        return Parity(
            where=where,
            text=entry.text,
            verdict=verdict_of(notes),
            notes=tuple(notes),
            name=name,
            body=body,
        )


def _spread(cron: str, notes: list[str]) -> str:
    """`~` as H: a value that stays, where cron throws dice at each start."""
    if "~" not in cron:
        return cron
    notes.append("~ becomes H: the value comes from the schedule's name and stays the same")
    return " ".join(
        _RANDOM.sub(r"H(\1-\2)", field).replace("(-", f"({low}-").replace("-)", f"-{high})")
        for field, low, high in zip(cron.split(), _LOW, _HIGH, strict=False)
    )


def _clocks(body: dict[str, Any], cron: Cron, notes: list[str]) -> None:
    """Where clocks change, as cron does."""
    is_by_the_clock = cron.minute.is_star or cron.hour.is_star
    if is_by_the_clock and not cron.keeps_pace:
        body["dst"] = dict(_BY_THE_CLOCK)
    if not is_by_the_clock and cron.keeps_pace and body["timezone"] != "UTC":
        notes.append("it names every hour and so also runs in the hour that clocks show twice")


def _jitter(body: dict[str, Any], entry: Entry, notes: list[str]) -> None:
    minutes = entry.settings.get(DELAY, "0").strip()
    if not minutes.isdecimal():
        notes.append(f"{DELAY}={minutes} is no number of minutes and is left out")
    elif int(minutes):
        body["jitter"] = f"{int(minutes)}m"
        notes.append(f"{DELAY} becomes jitter: each time another delay of up to {minutes} minutes")


def _about_command(entry: Entry) -> list[str]:
    """What the command loses when a job stands for it."""
    notes = []
    if entry.user is not None:
        notes.append(f"it runs as whoever the worker runs as; user {entry.user} is handed over")
    if environment(entry):
        notes.append(f"handed over as environment: {', '.join(environment(entry))}")
    if entry.settings.get("MAILTO"):
        notes.append("its output is not mailed; it belongs in the job's result")
    return notes


def _about(name: str) -> str:
    if name == ZONE:
        return "the time zone of the lines below"
    if name == DELAY:
        return "the jitter of the lines below"
    if name in MAIL:
        return "nothing is mailed: results and failures are kept with the job"
    return "handed over as environment of the lines below"
