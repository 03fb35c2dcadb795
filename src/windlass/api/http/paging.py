"""Pagination by cursor (keyset): `{"data": […], "next_cursor": …}`. A cursor is for its own list.

It is the position of the page's last row behind a letter for the list. Callers take it as it comes.
The header `Link` names the next page as a whole (RFC 8288), with whatever else was asked for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

from windlass.api.http.query import Param, limit_param
from windlass.api.http.reply import JSON, Reply, encode
from windlass.limits import NAME_CHARS_MAX, PAGE_MAX
from windlass.model.identity.account import USER_NAME_PATTERN
from windlass.model.job.event import EVENT_ID_PATTERN, SortKey, parse_event_id, show_event_id
from windlass.model.job.lock import NAME_PATTERN as LOCK_PATTERN
from windlass.model.job.target import TARGET_CHARS_MAX
from windlass.model.json.value_schema import NAME_PATTERN


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursors:
    """The cursors of one list."""

    mark: str
    pattern: str  # of the position behind the mark
    read_position: Any  # from its text

    def show(self, position: str) -> str:
        return self.mark + position

    def param(self) -> Param:
        whole = re.compile(re.escape(self.mark) + f"({self.pattern})")

        def read(text: str) -> Any:
            found = whole.fullmatch(text)
            if found is None:
                raise ValueError(
                    "is not a cursor of this list; take next_cursor of its last page as it came"
                )
            return self.read_position(found[1])

        return Param(
            name="cursor",
            read=read,
            description="`next_cursor` of the page before",
            schema={"type": "string", "pattern": f"^{self.mark}{self.pattern}$"},
        )


JOBS: Final = Cursors(mark="j_", pattern="[0-9a-f]{32}", read_position=lambda text: UUID(hex=text))
QUEUES: Final = Cursors(
    mark="q_", pattern=f"{NAME_PATTERN}{{0,{NAME_CHARS_MAX - 1}}}", read_position=lambda text: text
)
DEAD_LETTERS: Final = Cursors(mark="d_", pattern=JOBS.pattern, read_position=JOBS.read_position)
OPERATIONS: Final = Cursors(mark="o_", pattern=JOBS.pattern, read_position=JOBS.read_position)
LOCKS: Final = Cursors(
    mark="l_",
    pattern=f"{LOCK_PATTERN[:-1]}{{0,{NAME_CHARS_MAX - 1}}}",
    read_position=lambda text: text,
)
SECRETS: Final = Cursors(mark="s_", pattern=QUEUES.pattern, read_position=lambda text: text)
WORKFLOWS: Final = Cursors(mark="w_", pattern=QUEUES.pattern, read_position=lambda text: text)
VERSIONS: Final = Cursors(mark="v_", pattern="[1-9][0-9]{0,8}", read_position=int)
# Any host that a job's address may hold.
TARGETS: Final = Cursors(
    mark="t_",
    pattern=rf"[^\u0000-\u001f\u007f-\u009f]{{1,{TARGET_CHARS_MAX}}}",
    read_position=lambda text: text,
)
SCHEDULES: Final = Cursors(mark="h_", pattern=QUEUES.pattern, read_position=lambda text: text)
# An instant, in microseconds since 1970.
FIRINGS: Final = Cursors(
    mark="f_",
    pattern="[0-9]{1,17}",
    read_position=lambda text: datetime.fromtimestamp(0, UTC) + timedelta(microseconds=int(text)),
)
# The attempt and the line in it.
LOG: Final = Cursors(
    mark="g_",
    pattern="[0-9]{1,9}_[0-9]{1,9}",
    read_position=lambda text: tuple(int(part) for part in text.split("_")),
)
APPROVALS: Final = Cursors(mark="a_", pattern=JOBS.pattern, read_position=JOBS.read_position)
KEYS: Final = Cursors(mark="k_", pattern=JOBS.pattern, read_position=JOBS.read_position)
SESSIONS: Final = Cursors(mark="z_", pattern=JOBS.pattern, read_position=JOBS.read_position)
AUDIT: Final = Cursors(mark="b_", pattern=JOBS.pattern, read_position=JOBS.read_position)
USERS: Final = Cursors(
    mark="u_",
    pattern=USER_NAME_PATTERN.strip("^$"),
    read_position=lambda text: text,
)
EXECUTIONS: Final = Cursors(mark="x_", pattern=JOBS.pattern, read_position=JOBS.read_position)
# The id of a job, its item and its step; a compensation's step has more letters than others.
EXECUTION_JOBS: Final = Cursors(
    mark="y_",
    pattern=r"[0-9a-f]{32}[0-7][0-9a-f]{7}[A-Za-z0-9_~]{1,80}",
    read_position=lambda text: (text[40:], int(text[32:40], 16), UUID(hex=text[:32])),
)
EVENTS: Final = Cursors(mark="e_", pattern=EVENT_ID_PATTERN, read_position=parse_event_id)


def event_cursor(position: SortKey) -> str:
    return EVENTS.show(show_event_id(position))


class PageReply(Reply):
    """A page, and where the next one begins."""

    __slots__ = ("next_cursor",)

    def __init__(self, data: Sequence[Any], next_cursor: str | None) -> None:
        super().__init__(encode({"data": data, "next_cursor": next_cursor}), 200, (JSON,))
        self.next_cursor = next_cursor


def page_reply(data: Sequence[Any], next_cursor: str | None) -> PageReply:
    return PageReply(data, next_cursor)


# -- lists that are short enough to be read whole --------------------------------------------------

WHOLE: Final = Cursors(mark="n_", pattern="[0-9]{1,6}", read_position=int)


def whole_params() -> tuple[Param, Param]:
    """`limit` and `cursor` of a list that is given whole unless somebody asks for less."""
    return limit_param(PAGE_MAX), WHOLE.param()


def page_of_whole(rows: Sequence[Any], query: dict[str, Any]) -> PageReply:
    """The asked-for page of `rows`. Its position is a number: such lists hardly change between
    pages, and those of one job only grow at their end.
    """
    start: int = query.get("cursor", 0)
    end = start + query.get("limit", PAGE_MAX)
    return PageReply(rows[start:end], WHOLE.show(str(end)) if end < len(rows) else None)
