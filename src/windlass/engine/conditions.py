"""Conditions of a list: a WHERE clause of fragments from a closed set, with numbered parameters.

Owns: how `{where}` of a statement is filled in. Its parameters come behind the statement's own: of
a page there is one, its size.
Promises: every value of the caller's is a parameter and never a part of the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from windlass import ids
from windlass.store.database import Database, Record
from windlass.store.statements import statement

# An id holds the clock of the node that made it, created_at that of the database.
_SKEW: Final = timedelta(days=1)


class Conditions:
    """All of them hold. What is None was not asked for."""

    def __init__(self, alias: str = "", *, own: int = 1) -> None:
        self._alias = alias  # before each column's name, as `e.`
        self._own = own  # parameters that the statement has itself
        self._texts: list[str] = []
        self._values: list[Any] = []

    def add(self, fragment: str, value: Any) -> None:
        """`{}` in the fragment is the value's parameter."""
        if value is not None:
            self._values.append(value)
            self.plain(fragment.format(f"${self._own + len(self._values)}"))

    def plain(self, fragment: str) -> None:
        """One without a value; it begins with its column."""
        self._texts.append(self._alias + fragment)

    def states(self, states: Sequence[str]) -> None:
        """One of these, if there are any. Names of ours, written out: an index is found by the very
        words `state = 'dead'`.
        """
        if states:
            named = ", ".join(f"'{state}'" for state in states)
            self.plain(f"state = {named}" if len(states) == 1 else f"state IN ({named})")

    def created(self, after: datetime | None, before: datetime | None) -> None:
        """`after`: at it or later; `before`: and not at it."""
        self.add("created_at >= {}", after)
        self.add("created_at < {}", before)
        self.ids_made(after, before)

    def ids_made(self, after: datetime | None, before: datetime | None) -> None:
        """Ids of that time, and of some of the time around it."""
        if after is not None:
            self.add("id >= {}", _id_at(after, -_SKEW))
        if before is not None:
            self.add("id < {}", _id_at(before, _SKEW))

    def finished(self, after: datetime | None, before: datetime | None) -> None:
        """Only what has ended; bounds as of `created`."""
        self.add("finished_at >= {}", after)
        if before is not None:
            self.add("finished_at < {}", before)
            # Nothing ends before it is made.
            self.add("id < {}", _id_at(before, _SKEW))

    @property
    def text(self) -> str:
        return " AND ".join(self._texts) or "true"

    @property
    def values(self) -> list[Any]:
        return list(self._values)

    async def page(self, database: Database, name: str, limit: int) -> list[Record]:
        """Up to `limit` rows of the statement of this name."""
        sql = statement(name).replace("{where}", self.text)
        return await database.browse(sql, limit, *self._values)


def _id_at(instant: datetime, skew: timedelta) -> UUID | None:
    """The lowest id of that time; None where the calendar ends."""
    try:
        moved = instant + skew
        return ids.uuid7_at(moved) if 1970 < moved.year < 9999 else None
    except OverflowError:
        return None
