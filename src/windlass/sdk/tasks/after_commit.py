"""After-commit hooks: called once the caller's transaction has committed, if its library tells.

| connection | known by |
|---|---|
| SQLAlchemy `Session`, `AsyncSession`, and their scoped ones | the events of the session |
| Django | `connection.on_commit` |
| `windlass.current().db` | itself: its node commits it |
| everything else | nothing: its user calls `handle.hint()` |

Promises: what is rolled back, to a savepoint too, is not told of. Nothing here raises into the
caller's commit, or keeps it waiting.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from typing import Any, Final

# Where a session of SQLAlchemy keeps it: transaction -> what to call when that is committed.
_KEPT: Final = "windlass.after_commit"
Call = Callable[[], None]


def after_commit(family: str, connection: Any, call: Call) -> bool:
    """Have it called after the commit, once. False: this kind of connection does not tell."""
    match family:
        case "sqlalchemy":
            session = _session_of(connection)
            return session is not None and _after_session(session, call)
        case "django":
            return _after_django(connection, call)
        case "windlass":
            connection.after_commit(call)
            return True
        case _:
            return False


def _after_django(connection: Any, call: Call) -> bool:
    try:
        connection.on_commit(call, robust=True)
    except Exception:  # transactions by hand (set_autocommit(False)): nobody is told of their end
        return False
    return True


def _session_of(connection: Any) -> Any:
    """The session that has the events; None: it is a Connection, which has none of the kind."""
    orm = sys.modules.get("sqlalchemy.orm")
    if orm is None:
        return None
    inner = connection
    if type(inner).__name__ in {"scoped_session", "async_scoped_session"}:
        inner = inner()  # of this thread or task
    inner = getattr(inner, "sync_session", inner)
    return inner if isinstance(inner, orm.Session) else None


def _after_session(session: Any, call: Call) -> bool:
    transaction = session.get_nested_transaction() or session.get_transaction()
    if transaction is None:
        return False
    kept = session.info.get(_KEPT)
    if kept is None:
        kept = session.info[_KEPT] = {}
        listen = sys.modules["sqlalchemy"].event.listen
        listen(session, "after_commit", _committed)
        listen(session, "after_transaction_end", _ended)
    kept.setdefault(transaction, []).append(call)
    return True


def _committed(session: Any) -> None:
    """A savepoint was released, or all of it is committed; the event is the same."""
    kept: dict[Any, list[Call]] = session.info.get(_KEPT, {})
    nested = session.get_nested_transaction()
    calls = kept.pop(nested or session.get_transaction(), [])
    if nested is not None:
        parent = nested.parent
        while parent is not None and not parent.nested and parent.parent is not None:
            parent = parent.parent  # a flush that is under way is no transaction of its own
        kept.setdefault(parent, []).extend(calls)
        return
    for call in calls:
        with contextlib.suppress(Exception):
            call()


def _ended(session: Any, transaction: Any) -> None:
    """What it still has was rolled back, or closed without a word."""
    session.info.get(_KEPT, {}).pop(transaction, None)
