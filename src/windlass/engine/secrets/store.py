"""Secrets as deliveries open them: an in-memory cache in front of PostgreSQL.

Promises: an answer is at most SECRET_KEPT_SECONDS old, that there is no such secret too; it is
dropped at once when anybody says that the secret changed. While PostgreSQL is away what was known
goes on being good, but not beyond SECRET_KEPT_AWAY_SECONDS. However many ask, one reads.
A secret that is sent is bound to its hosts before anybody gets it: by one statement at its first
use, which the first of all nodes wins; from then on its hosts are in memory with its values.
A Vault of strategies.http.auth.secrets by shape.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

from windlass.clock import monotonic
from windlass.engine.announce import Announcer
from windlass.engine.secrets.seal import CannotOpen, Sealer
from windlass.engine.secrets.secrets import unseal_live
from windlass.errors import WindlassError
from windlass.limits import (
    SECRET_ASK_SECONDS,
    SECRET_KEPT_AWAY_SECONDS,
    SECRET_KEPT_SECONDS,
    SECRETS_KEPT_MAX,
)
from windlass.lru import Lru
from windlass.model.job.secret_hosts import targets_outside
from windlass.store.database import Database, Record
from windlass.strategies.http.auth.secrets import AuthFailed, SecretNotForHost, SecretUnavailable
from windlass.strategies.http.auth.sign import is_key


@dataclass(slots=True, kw_only=True)
class _Known:
    """What was read of one secret, and when."""

    values: tuple[str, ...] = field(default=(), repr=False)  # newest first; none: it cannot be had
    hosts: tuple[str, ...] | None = None  # it may go to; None: its first use binds it
    why: str = ""  # it cannot be had
    is_missing: bool = False
    is_keyless: bool = False  # nothing can be opened here
    read_at: float = 0.0
    ask_at: float = 0.0  # from then on it is asked for again


_Answer = _Known | WindlassError


class SecretStore:
    def __init__(self, database: Database, sealer: Sealer | None, announcer: Announcer) -> None:
        self._database = database
        self._sealer = sealer  # None: no secret can be opened here
        self._known: Lru[str, _Known] = Lru(entries_max=SECRETS_KEPT_MAX)
        self._asking: dict[str, asyncio.Task[_Answer]] = {}
        # The loop itself holds tasks only weakly, and those who asked may have gone away.
        self._tasks: set[asyncio.Task[_Answer]] = set()
        self._binding = asyncio.Lock()
        announcer.on_secret(self.forget)

    async def open(
        self, name: str, targets: Sequence[str] = (), *, is_sent: bool = False
    ) -> Sequence[str]:
        """See Vault."""
        known = await self._find(name)
        if is_sent and is_key(known.values[0]):
            raise AuthFailed(f"secret {name!r} is a key to sign with: it is never sent itself")
        hosts = known.hosts
        if hosts is None and is_sent:
            known, hosts = await self._bound(name, targets)
        if hosts is not None and (others := targets_outside(targets, hosts)):
            raise SecretNotForHost(name, others[0], hosts)
        return known.values

    async def _find(self, name: str) -> _Known:
        """What is known of a secret that can be had. Raises SecretUnavailable."""
        known = self._known.get(name)
        if known is None or known.ask_at <= monotonic():
            known = await self._ask(name, known)
        if not known.values:
            raise SecretUnavailable(
                name, known.why, is_missing=known.is_missing, is_keyless=known.is_keyless
            )
        return known

    async def _bound(self, name: str, targets: Sequence[str]) -> tuple[_Known, tuple[str, ...]]:
        """The secret, and the hosts that it is bound to: these targets, if nobody was before."""
        wanted = list(dict.fromkeys(targets))
        async with self._binding:
            # Whoever comes second finds what the first has done.
            known = await self._find(name)
            if known.hosts is None:
                try:
                    rows = await self._database.run("secret_bind", name, wanted)
                except WindlassError as trouble:
                    raise SecretUnavailable(name, str(trouble), is_missing=False) from trouble
                if not rows:
                    self.forget([name])
                    raise SecretUnavailable(name, "it was deleted just now", is_missing=True)
                known.hosts = tuple(rows[0]["hosts"])
            return known, known.hosts

    def forget(self, names: Iterable[str]) -> None:
        """These have changed: what was read, or is being read, is not believed any more."""
        for name in names:
            self._known.drop((name,))
            self._asking.pop(name, None)

    async def _ask(self, name: str, known: _Known | None) -> _Known:
        asking = self._asking.get(name) or self._begin(name)
        if known is None or monotonic() > known.read_at + SECRET_KEPT_AWAY_SECONDS:
            answer = await asyncio.shield(asking)
            if isinstance(answer, WindlassError):
                raise SecretUnavailable(name, str(answer), is_missing=False) from answer
            return answer
        await asyncio.wait({asking}, timeout=SECRET_ASK_SECONDS)
        if asking.done() and isinstance(answer := asking.result(), _Known):
            return answer
        if self._known.get(name) is not known:
            return await self._ask(name, None)  # it was changed meanwhile: the old is no good
        # PostgreSQL is away; those who come next do not wait for it again.
        known.ask_at = monotonic() + SECRET_ASK_SECONDS
        return known

    def _begin(self, name: str) -> asyncio.Task[_Answer]:
        task = self._asking[name] = asyncio.create_task(self._read(name), name="open secret")
        self._tasks.add(task)
        task.add_done_callback(partial(self._asked, name))
        return task

    def _asked(self, name: str, task: asyncio.Task[_Answer]) -> None:
        self._tasks.discard(task)
        if self._asking.get(name) is not task:
            return  # somebody said meanwhile that it changed
        del self._asking[name]
        if task.cancelled() or task.exception() is not None:
            return
        answer = task.result()
        if isinstance(answer, _Known):
            self._known.put(name, answer)

    async def _read(self, name: str) -> _Answer:
        begun = monotonic()
        try:
            rows = await self._database.read("secret_live", name)
        except WindlassError as trouble:
            return trouble  # as a value: it may be that nobody waits for it any more
        known = _opened(self._sealer, name, rows)
        known.read_at, known.ask_at = begun, begun + SECRET_KEPT_SECONDS
        return known


def _opened(sealer: Sealer | None, name: str, rows: list[Record]) -> _Known:
    if not rows:
        why, is_keyless = "there is none of this name; set it first", sealer is None
        return _Known(why=why, is_missing=True, is_keyless=is_keyless)
    if sealer is None:
        why = "this node has no key to open it with; set WINDLASS_SECRET_KEY"
        return _Known(why=why, is_keyless=True)
    hosts = rows[0]["hosts"]
    try:
        return _Known(
            values=tuple(unseal_live(sealer, name, rows)),
            hosts=None if hosts is None else tuple(hosts),
        )
    except CannotOpen as trouble:
        return _Known(why=str(trouble))
