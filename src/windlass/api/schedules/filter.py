"""Which schedules are meant: by name, prefix, tags, source, workflow or queue."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, get_args

from windlass.api.http.body import fields_of
from windlass.engine.schedules.schedule import ScheduleFilter, Source
from windlass.limits import NAME_CHARS_MAX
from windlass.model.job.submission import read_name, read_tags, read_text

NAMES_MAX: Final = 10_000
SOURCES: Final[tuple[Source, ...]] = get_args(Source)


def read_filter(value: object) -> ScheduleFilter:
    """{} is all of them. Raises ValueError or InvalidInput."""
    if not isinstance(value, Mapping):
        raise ValueError('must be an object such as {"tags": ["nightly"]}; {} is all of them')
    return ScheduleFilter(**fields_of(value, _FILTER))


def read_source(value: object) -> str:
    if not isinstance(value, str) or value not in SOURCES:
        raise ValueError(f"must be one of: {' '.join(SOURCES)}")
    return value


def read_prefix(value: object) -> str:
    return read_text(value, NAME_CHARS_MAX)


def _names(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or len(value) > NAMES_MAX:
        raise ValueError(f"must be a list of at most {NAMES_MAX} names")
    return tuple(read_name(name) for name in value)


_FILTER: Final[dict[str, Callable[[object], Any]]] = {
    "names": _names,
    "prefix": read_prefix,
    "tags": read_tags,
    "source": read_source,
    "workflow": read_name,
    "queue": read_name,
}
